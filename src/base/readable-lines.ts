import { prettyFactory } from 'pino-pretty'
import type { ReadableLines } from './log.ts'

/**
 * Formats JSON lines as readable text. In a file of its own, because loading it takes 30 ms of a start, wasted without
 * a terminal.
 */
export const readableLines: ReadableLines = colour => {
  const format = prettyFactory({ colorize: colour, singleLine: true })
  return line => format(line)
}
