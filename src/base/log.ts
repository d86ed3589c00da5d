import { type DestinationStream, type Logger, pino } from 'pino'
import pretty from 'pino-pretty'

/** Structured logging: one JSON object a line, control characters escaped. */
export type Log = Pick<Logger, 'info' | 'warn' | 'error' | 'debug'>

export interface LogOptions {
  readonly level: 'debug' | 'info' | 'warn' | 'error' | 'silent'
  /** Lines for people instead of JSON, in colour where `colour` says so. */
  readonly pretty: boolean
  readonly colour: boolean
}

/**
 * Fields that may hold a credential never reach a line, whoever passes them by mistake. Those who log pass fields
 * that they chose, not objects that they were given; this is the net under that.
 */
const REDACTED = ['authorization', 'x-api-key', 'secret', 'password', 'cookie'].flatMap(name => [
  `["${name}"]`,
  `*["${name}"]`,
])

export function createLog(destination: DestinationStream, options: LogOptions): Log {
  const stream = options.pretty
    ? pretty({ destination, colorize: options.colour, sync: true, singleLine: true, ignore: 'level_value' })
    : destination
  return pino(
    {
      level: options.level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: label => ({ level: label }) },
      redact: { paths: REDACTED, censor: '[redacted]' },
    },
    stream,
  )
}
