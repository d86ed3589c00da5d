import { inspect } from 'node:util'
import { COMMAND_FAULTS, CommandError, EXIT, type ExitCode } from '../../base/catalogue/command.ts'
import type { Problem } from '../../config/types.ts'
import type { Json } from '../../schema/kinds.ts'
import { ConflictError, ProbeError } from '../../services/changes/rejections.ts'
import { ConfigurationInvalid } from '../../services/invalid.ts'
import { LedgerBroken } from '../../services/ledger-broken.ts'
import type { SourceLine } from '../../store/types.ts'
import type { Format } from '../format.ts'
import type { Io, Sink } from '../io.ts'
import { checkedToJson, findingsToJson, findingsToText } from './ledger-text.ts'
import { problemsToJson, problemsToText, problemToText } from './problems.ts'
import { type ColourWhen, printable, type Style, styleFor } from './style.ts'

/** The result of a command in each format. Only the requested one is computed. */
export interface Result {
  /** Ends with a line feed, or is empty. */
  readonly text: () => string
  readonly json: () => Json | object
  /** GitHub's workflow commands; absent: the text. */
  readonly github?: () => string
  /** JUnit's XML; absent: the text. */
  readonly junit?: () => string
}

/**
 * The rules of output, for every command:
 *
 *     stdout   the result, and nothing else: `--format json` writes exactly one document, in success and in
 *              failure; a command that prints `lines` writes one document per line
 *     stderr   messages: questions, progress, warnings, and in text form the error
 *
 * A closed pipe (`gw export | head -1`) ends the output quietly, never the work.
 */
export interface Output {
  readonly format: Format
  /** Colours for stdout and for stderr, each by whether it is a terminal. */
  readonly style: Style
  readonly infoStyle: Style
  /** Width of the terminal on stdout; `undefined` without one. */
  readonly width: number | undefined
  /** Aborted when stdout was closed by its reader or has failed. */
  readonly closed: AbortSignal
  /** The one result of the command. */
  result(result: Result): void
  /**
   * For a command that prints a possibly endless sequence of results: returns the function that writes one. From then
   * on JSON is JSON Lines (jsonlines.org), one object per line, also in failure.
   */
  lines(): (line: Result) => void
  /** Text on stdout beside the result: nothing with `--format json`. */
  print(text: string): void
  /** A line on stderr. */
  info(line: string): void
  /**
   * Shows the error, and returns its exit code. `detailed`: the text of the details was shown already; in JSON they are
   * always part of the document.
   */
  fail(error: unknown, detailed?: 'detailed'): ExitCode
  /** Waits until everything is written. Returns the error that stopped the output, unless a reader closed the pipe. */
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
    stderr.write(`${infoStyle.fault(`error ${error.number}:`)} ${legible(error.message)}\n`)
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

/** Prints a list from the store. If it is empty, only `none`, on stderr. */
export function printPage<Row>(
  out: Output,
  page: { readonly data: readonly Row[] },
  none: string,
  text: (rows: readonly Row[]) => string,
): void {
  const rows = page.data
  if (rows.length === 0) out.info(none)
  out.result({ text: () => (rows.length === 0 ? '' : text(rows)), json: () => page })
}

/** Prints warnings of valid files on stderr. */
export function printWarnings(out: Output, warnings: readonly Problem[]): void {
  for (const warning of warnings) out.info(`${problemToText(warning, out.infoStyle)}\n`)
}

/** At most so many causes are printed. */
const MAX_CAUSES = 8

function textIn(format: Format, { text, github, junit }: Result): string {
  if (format === 'github' && github) return github()
  return format === 'junit' && junit ? junit() : text()
}

/** Any other exception: its first line, and its stack only with GW_DEBUG. */
function unexpected(raised: unknown): CommandError {
  const text = raised instanceof Error ? raised.message : String(raised)
  const line = text.split('\n', 1)[0] ?? ''
  return new CommandError('unexpected', line && `An unexpected error: ${line}`, { cause: raised })
}

/** The chain of causes; of an error only its stack, because libraries attach requests to theirs. */
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
  const { number, message, hint } = error
  return { code: number, message, hint, ...detailsJson(error) }
}

/** Details of an error beyond its message, which names conflicts and probes already. */
function detailsText(error: CommandError, format: Format, style: Style): string {
  if (error instanceof ConfigurationInvalid) return problemsToText(error.problems, format, style)
  return error instanceof LedgerBroken ? findingsToText(error.findings, style) : ''
}

/** The same as members of `error`, beside its code, message and hint. */
function detailsJson(error: CommandError): { readonly [member: string]: Json } {
  if (error instanceof ConfigurationInvalid) return { problems: problemsToJson(error.problems) }
  if (error instanceof LedgerBroken) {
    return { checked: checkedToJson(error.checked), findings: findingsToJson(error.findings) }
  }
  if (error instanceof ConflictError) {
    return {
      conflicts: error.conflicts.map(({ kind, name, message, place, other }) => ({
        kind,
        name,
        message,
        ...(place && lineJson(place)),
        ...(other && { other: lineJson(other) }),
      })),
    }
  }
  if (error instanceof ProbeError) {
    return {
      failures: error.failures.map(({ endpoint, model, cause, hint }) => ({ endpoint, model, cause, hint })),
    }
  }
  return {}
}

function lineJson({ file, line }: SourceLine): { readonly file: string; readonly line: number } {
  return { file, line }
}

/** Escapes control characters of names in a message; line breaks stay. */
function legible(text: string): string {
  return text.split('\n').map(printable).join('\n')
}

function indented(json: Json | object): string {
  return `${JSON.stringify(json, null, 2)}\n`
}

function compact(json: Json | object): string {
  return `${JSON.stringify(json)}\n`
}

/** One output stream. It keeps the first error; a closed pipe (EPIPE) is not an error. */
class StreamWriter {
  readonly #sink: Sink
  readonly #closed = new AbortController()
  #pending: Promise<void> = Promise.resolve()
  fault: Error | undefined

  constructor(sink: Sink) {
    this.#sink = sink
    // Never removed: an error may come after the write that caused it, and without a listener it ends the process.
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
