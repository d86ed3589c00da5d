import { type DestinationStream, type Logger, pino } from 'pino'
import { CommandError } from './catalogue/command.ts'
import { GwError } from './catalogue/wire.ts'

/** Structured logging: one JSON object per line, control characters escaped. */
export interface Log extends Pick<Logger, 'info' | 'warn' | 'error' | 'debug'> {
  /**
   * Writes an `info` line with fields that are already JSON, such as `"a":1,"b":"x"`: for the line of each request:
   * serialization would be half of its cost. `fieldsJson` is called only if the level is enabled.
   */
  readonly written: (fieldsJson: () => string, message: string) => void
  /** The least severe level that is written. */
  readonly level: LogOptions['level']
  /** The destination of finished lines, such as those of another thread's log at the same level. */
  readonly lines: LogDestination
}

/** The destination of lines. */
export interface LogDestination {
  /** @param line With its line break. */
  write(line: string): void
  /** Present if lines are buffered. Called after an error, which must not be lost with the process. */
  flush?(): void
}

/** Makes a formatter from JSON to readable text. */
export type ReadableLines = (colour: boolean) => (line: string) => string

export interface LogOptions {
  readonly level: 'debug' | 'info' | 'warn' | 'error' | 'silent'
  /** Readable lines instead of JSON, in colour if `colour` is set: see `readableLines`. */
  readonly pretty: false | ReadableLines
  readonly colour: boolean
}

/**
 * Callers log only fields of their own choice, never foreign objects: so no credential can reach a line. Errors are the
 * exception; only their known text fields are written, because libraries attach requests with headers to errors.
 */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return String(error)
  return {
    type: error.name,
    message: error.message,
    ...(error instanceof GwError && error.reason !== undefined && { reason: error.reason }),
    ...codeOf(error),
    stack: error.stack,
    ...(error.cause !== undefined && { cause: describeError(error.cause) }),
  }
}

function codeOf(error: Error): { readonly code?: string } {
  if (error instanceof CommandError) return { code: error.number }
  return 'code' in error && typeof error.code === 'string' ? { code: error.code } : {}
}

export function createLog(destination: LogDestination, options: LogOptions): Log {
  const stream = options.pretty ? readable(destination, options.pretty(options.colour)) : destination
  const time = pino.stdTimeFunctions.isoTime
  const logger = pino(
    {
      level: options.level,
      base: null,
      timestamp: time,
      formatters: { level: label => ({ level: label }) },
      serializers: { err: describeError },
    },
    destination.flush ? flushAfterErrors(stream) : stream,
  )
  const written: Log['written'] = (fieldsJson, message) => {
    if (!logger.isLevelEnabled('info')) return
    stream.write(`{"level":"info"${time()},${fieldsJson()},"msg":${JSON.stringify(message)}}\n`)
  }
  return Object.assign(logger, { written, level: options.level, lines: stream })
}

/** pino's number for `error`. */
const ERROR_LEVEL = 50

/** Formats each line before it is written. */
function readable(destination: LogDestination, format: (line: string) => string): LogDestination {
  return { write: line => destination.write(format(line)), flush: () => destination.flush?.() }
}

/** pino passes the level of each line to a stream with this symbol (its API, `pino.symbols.needsMetadataGsym`). */
function flushAfterErrors(destination: LogDestination): DestinationStream {
  const stream = {
    [pino.symbols.needsMetadataGsym]: true as const,
    lastLevel: 0,
    write(line: string) {
      destination.write(line)
      if (stream.lastLevel >= ERROR_LEVEL) destination.flush?.()
    },
  }
  return stream
}
