import { type DestinationStream, type Logger, pino } from 'pino'
import { prettyFactory } from 'pino-pretty'

/** Structured logging: one JSON object a line, control characters escaped. */
export type Log = Pick<Logger, 'info' | 'warn' | 'error' | 'debug'>

export interface LogOptions {
  readonly level: 'debug' | 'info' | 'warn' | 'error' | 'silent'
  /** Lines for people instead of JSON, in colour where `colour` says so. */
  readonly pretty: boolean
  readonly colour: boolean
}

/**
 * Those who log pass fields that they chose, never objects that they were given: so no credential can reach a line.
 * An error is the one object that comes from elsewhere; of it only what is meant for people is written, because
 * libraries hang requests with their headers on theirs.
 */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return String(error)
  return {
    type: error.name,
    message: error.message,
    ...('code' in error && typeof error.code === 'string' && { code: error.code }),
    stack: error.stack,
    ...(error.cause !== undefined && { cause: describeError(error.cause) }),
  }
}

export function createLog(destination: DestinationStream, options: LogOptions): Log {
  const stream = options.pretty ? readable(destination, options.colour) : destination
  return pino(
    {
      level: options.level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: label => ({ level: label }) },
      serializers: { err: describeError },
    },
    stream,
  )
}

/** Puts each line into words before it is written. */
function readable(destination: DestinationStream, colorize: boolean): DestinationStream {
  const format = prettyFactory({ colorize, singleLine: true })
  return { write: line => destination.write(format(line)) }
}
