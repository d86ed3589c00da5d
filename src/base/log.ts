import { type DestinationStream, type Logger, pino } from 'pino'

/** Structured logging: one JSON object a line, control characters escaped. */
export interface Log extends Pick<Logger, 'info' | 'warn' | 'error' | 'debug'> {
  /**
   * Writes an `info` line whose fields are JSON already, such as `"a":1,"b":"x"`: for the line of each request, of
   * which serialising an object would be half the cost. They are not asked for where nobody reads such lines.
   */
  readonly written: (fieldsJson: () => string, message: string) => void
  /** Of how little a line is made. */
  readonly level: LogOptions['level']
  /** Where its lines go, for those that were finished elsewhere: by the log of another thread, at the same level. */
  readonly lines: LogDestination
}

/** Where lines go. */
export interface LogDestination {
  /** @param line With its line break. */
  write(line: string): void
  /** Present where lines are gathered. Called behind an error, which must not be lost with the process. */
  flush?(): void
}

/** Makes what puts a line of JSON into words. */
export type ReadableLines = (colour: boolean) => (line: string) => string

export interface LogOptions {
  readonly level: 'debug' | 'info' | 'warn' | 'error' | 'silent'
  /** Lines for people instead of JSON, in colour where `colour` says so: see `readableLines`. */
  readonly pretty: false | ReadableLines
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
    destination.flush ? flushedBehindErrors(stream) : stream,
  )
  const written: Log['written'] = (fieldsJson, message) => {
    if (!logger.isLevelEnabled('info')) return
    stream.write(`{"level":"info"${time()},${fieldsJson()},"msg":${JSON.stringify(message)}}\n`)
  }
  return Object.assign(logger, { written, level: options.level, lines: stream })
}

/** pino's number for `error`. */
const ERROR_LEVEL = 50

/** Puts each line into words before it is written. */
function readable(destination: LogDestination, format: (line: string) => string): LogDestination {
  return { write: line => destination.write(format(line)), flush: () => destination.flush?.() }
}

/** pino tells a stream that asks for it which level a line has (its API, `pino.symbols.needsMetadataGsym`). */
function flushedBehindErrors(destination: LogDestination): DestinationStream {
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
