import { inspect } from 'node:util'
import { COMMAND_FAULTS, CommandError, EXIT, type ExitCode } from '../base/catalogue/command.ts'
import type { Json } from '../schema/kinds.ts'
import { detailsJson, detailsText } from './failure.ts'
import type { Format } from './format.ts'
import type { Io, Sink } from './io.ts'
import { type ColourWhen, printable, type Style, styleFor } from './style.ts'

/** What a command has to say, in each format. Only the one that is asked for is made. */
export interface Result {
  /** Ends with a line feed, or is empty. */
  readonly text: () => string
  readonly json: () => Json
  /** GitHub's workflow commands; where absent, the text. */
  readonly github?: () => string
  /** JUnit's XML; where absent, the text. */
  readonly junit?: () => string
}

/**
 * The rules of output, for every command:
 *
 *     stdout   what was asked for, and nothing else: `--format json` puts exactly one document there,
 *              in success and in failure; a command that prints `lines` puts one on each
 *     stderr   talk: questions, progress, warnings, and in text form the failure
 *
 * A reader that goes away (`gw export | head -1`) ends the writing quietly, never the work.
 */
export interface Output {
  readonly format: Format
  /** Colours for stdout and for stderr, each by whether it is a terminal. */
  readonly style: Style
  readonly infoStyle: Style
  /** Width of the terminal on stdout; `undefined` where there is none. */
  readonly width: number | undefined
  /** Aborted where stdout takes nothing more: its reader has left, or it failed. */
  readonly closed: AbortSignal
  /** The one result of the command. */
  result(result: Result): void
  /**
   * For a command that answers with lines instead of one result, perhaps without an end: gives what writes each of
   * them. From then on JSON is JSON Lines (jsonlines.org), an object a line, also in failure.
   */
  lines(): (line: Result) => void
  /** Text on stdout beside the result: nothing with `--format json`. */
  print(text: string): void
  /** A line for the person who watches. */
  info(line: string): void
  /**
   * Shows why the command failed, and gives its exit code. `detailed` says that the text of the details was shown
   * already; in JSON they always belong to the one document.
   */
  fail(error: unknown, detailed?: 'detailed'): ExitCode
  /** Waits until all is written. Gives the error that stopped the writing, if it was not the reader's leaving. */
  flush(): Promise<Error | undefined>
}

export function openOutput(io: Io, format: Format, when: ColourWhen): Output {
  const stdout = new StreamWriter(io.stdout)
  const stderr = new StreamWriter(io.stderr)
  const style = styleFor(io.stdout, io, when)
  const infoStyle = styleFor(io.stderr, io, when)
  const debug = Boolean(io.environment['GW_DEBUG'])
  let document = indented

  function print(result: Result): void {
    if (format === 'json') stdout.write(document(result.json()))
    else stdout.write(textIn(format, result))
  }

  function failText(error: CommandError, detailed: boolean): void {
    if (!detailed) stderr.write(detailsText(error, format, infoStyle))
    stderr.write(`${infoStyle.fault(`error ${error.code}:`)} ${legible(error.message)}\n`)
    stderr.write(`  ${infoStyle.faint('hint:')} ${legible(error.hint)}\n`)
  }

  return {
    format,
    style,
    infoStyle,
    width: io.stdout.isTTY === true ? io.stdout.columns : undefined,
    closed: stdout.closed,
    result: print,
    lines() {
      document = compact
      return print
    },
    print(text) {
      if (format !== 'json') stdout.write(text)
    },
    info: line => stderr.write(`${line}\n`),
    fail(raised, detailed) {
      const error = raised instanceof CommandError ? raised : unexpected(raised)
      if (format === 'json') stdout.write(document({ error: errorToJson(error) }))
      else failText(error, detailed !== undefined)
      if (debug && COMMAND_FAULTS[error.code].exit === EXIT.unexpected) stderr.write(`${trace(error)}\n`)
      return COMMAND_FAULTS[error.code].exit
    },
    async flush() {
      await Promise.all([stdout.flushed(), stderr.flushed()])
      return stdout.fault
    },
  }
}

/** Nobody reads on behind so many. */
const MAX_CAUSES = 8

function textIn(format: Format, { text, github, junit }: Result): string {
  if (format === 'github' && github) return github()
  return format === 'junit' && junit ? junit() : text()
}

/** Anything that is not ours: its own first line, and its stack only where somebody asks for it. */
function unexpected(raised: unknown): CommandError {
  const said = raised instanceof Error ? raised.message : String(raised)
  const line = said.split('\n', 1)[0] ?? ''
  return new CommandError('GW9001', line && `Something unexpected went wrong: ${line}`, { cause: raised })
}

/** The cause, and what is behind that; of an error only its stack: libraries hang requests on theirs. */
function trace(error: CommandError): string {
  const stacks: string[] = []
  let cause: unknown = error.cause ?? error
  while (cause !== undefined && stacks.length < MAX_CAUSES) {
    stacks.push(cause instanceof Error ? (cause.stack ?? cause.message) : inspect(cause))
    cause = cause instanceof Error ? cause.cause : undefined
  }
  return stacks.join('\ncaused by ')
}

function errorToJson(error: CommandError): Json {
  const { code, message, hint } = error
  return { code, message, hint, ...detailsJson(error) }
}

/** Names in a message may come from anywhere; its own line breaks stay. */
function legible(text: string): string {
  return text.split('\n').map(printable).join('\n')
}

function indented(json: Json): string {
  return `${JSON.stringify(json, null, 2)}\n`
}

function compact(json: Json): string {
  return `${JSON.stringify(json)}\n`
}

/** One stream of ours. It keeps the first error; a reader that has left (EPIPE) is none. */
class StreamWriter {
  readonly #sink: Sink
  readonly #closed = new AbortController()
  #pending: Promise<void> = Promise.resolve()
  fault: Error | undefined

  constructor(sink: Sink) {
    this.#sink = sink
    // For as long as the stream lives: an error may come after the write that caused it, and one that nobody
    // listens to ends the process.
    sink.on('error', error => this.#broken(error))
  }

  /** Aborted by the first error. */
  get closed(): AbortSignal {
    return this.#closed.signal
  }

  write(text: string): void {
    if (this.closed.aborted || text === '') return
    const written = new Promise<void>(resolve => {
      this.#sink.write(text, error => {
        if (error) this.#broken(error)
        resolve()
      })
    })
    this.#pending = Promise.all([this.#pending, written]).then(() => undefined)
  }

  flushed(): Promise<void> {
    return this.#pending
  }

  #broken(error: NodeJS.ErrnoException): void {
    const left = error.code === 'EPIPE' || error.code === 'ERR_STREAM_DESTROYED'
    if (!left) this.fault ??= error
    this.#closed.abort()
  }
}
