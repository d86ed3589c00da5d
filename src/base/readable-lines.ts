import { prettyFactory } from 'pino-pretty'
import type { ReadableLines } from './log.ts'

/** Each line in words, for people. Apart from the log, because it takes 30 ms of a start that nobody watches. */
export const readableLines: ReadableLines = colour => {
  const format = prettyFactory({ colorize: colour, singleLine: true })
  return line => format(line)
}
