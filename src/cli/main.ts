import { type Command, CommanderError } from 'commander'
import { CommandError, EXIT, type ExitCode } from '../base/catalogue/command.ts'
import { FORMATS } from './format.ts'
import { ENDING_SIGNALS, type Io } from './io.ts'
import { type Output, openOutput } from './output/output.ts'
import { COLOUR_WHEN } from './output/style.ts'
import { type CommanderOutput, DEFAULT_STORE, makeProgram } from './program.ts'
import type { BindHandler, GlobalFlags, Session } from './session.ts'
import { earlyFlag, usageError } from './usage-error.ts'

export { processIo } from './io.ts'

/**
 * One run of `gw`, from its command line to its exit code.
 *
 *     argv ──▶ parse ──▶ command handler ──▶ result on stdout ──▶ flushed ──▶ exit code
 *                │            │                                     │
 *           64 usage     1 3 4 5 130 from the catalogue        1 stdout failed
 *
 * Never throws, and leaves nothing running.
 *
 * @param argv without the name of the program.
 */
export async function run(argv: readonly string[], io: Io): Promise<ExitCode> {
  const format = earlyFlag(argv, '--format', FORMATS, 'text')
  const out = openOutput(io, format, earlyFlag(argv, '--color', COLOUR_WHEN, 'auto'))
  const interrupt = listen(io)
  let exit: ExitCode
  try {
    exit = await dispatch(argv, io, out, interrupt)
  } catch (error) {
    exit = out.fail(error)
  } finally {
    interrupt.close()
  }
  const broken = await out.flush()
  if (!broken) return exit
  out.info(`error GW9001: stdout cannot be written: ${broken.message}`)
  await out.flush()
  return EXIT.unexpected
}

async function dispatch(
  argv: readonly string[],
  io: Io,
  out: Output,
  { signal, onHangup }: Pick<Session, 'signal' | 'onHangup'>,
): Promise<ExitCode> {
  const said: CommanderOutput = { out: '', err: '' }
  let exit: ExitCode = EXIT.done
  const bind: BindHandler = (handler, formats = []) => {
    return async (...received) => {
      const command = received.at(-1) as Command
      const options = received.at(-2) as Parameters<typeof handler>[2]
      rejectFormat(command, out, formats)
      const flags = globalFlags(command, io)
      exit = await handler(
        { io, out, flags, signal, onHangup },
        received.slice(0, -2).flat().filter(isText),
        options,
      )
    }
  }
  try {
    const program = await makeProgram(bind, said, out.width, argv)
    await program.parseAsync(argv, { from: 'user' })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    return answerCommander(error, said, out, argv)
  }
  return exit
}

/** Commander reports help and version as errors as well; otherwise it would end the process. */
function answerCommander(
  error: CommanderError,
  said: CommanderOutput,
  out: Output,
  argv: readonly string[],
): ExitCode {
  if (error.exitCode === 0) {
    const text = said.out
    const name = error.code === 'commander.version' ? 'version' : 'help'
    out.result({ text: () => text, json: () => ({ [name]: text.trimEnd() }) })
    return EXIT.done
  }
  if (error.code === 'commander.help') {
    if (out.format !== 'json') out.info(said.err)
    return out.fail(new CommandError('usage', 'A command is missing.'))
  }
  return out.fail(usageError(error, argv))
}

function rejectFormat(command: Command, out: Output, extra: readonly string[]): void {
  if (out.format === 'text' || out.format === 'json' || extra.includes(out.format)) return
  const known = ['--format text', 'json', ...extra].map(format => `\`${format}\``)
  const list = `${known.slice(0, -1).join(', ')} and ${known.at(-1)}`
  throw new CommandError('usage', `\`gw ${command.name()}\` supports only ${list}.`)
}

interface ProgramOptions {
  readonly config?: readonly string[]
  readonly store?: string
  readonly yes?: true
  readonly input: boolean
}

function globalFlags(command: Command, io: Io): GlobalFlags {
  const options = command.optsWithGlobals<ProgramOptions>()
  return {
    config: options.config ?? [],
    store: options.store ?? (io.environment['GW_STORE'] || DEFAULT_STORE),
    yes: options.yes ?? false,
    input: options.input,
  }
}

/** Turns the first signal into an abort; a second one has its default effect and ends the process. */
function listen(io: Io): Pick<Session, 'signal' | 'onHangup'> & { close(): void } {
  const controller = new AbortController()
  const hangups: (() => void)[] = []
  const end = () => {
    for (const name of ENDING_SIGNALS) io.signals.off(name, interrupted)
  }
  const interrupted = () => {
    end()
    controller.abort(new CommandError('interrupted'))
  }
  for (const name of ENDING_SIGNALS) io.signals.on(name, interrupted)
  return {
    signal: controller.signal,
    onHangup(listener) {
      hangups.push(listener)
      io.signals.on('SIGHUP', listener)
      io.signals.off('SIGHUP', interrupted)
    },
    close() {
      end()
      for (const listener of hangups) io.signals.off('SIGHUP', listener)
    },
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}
