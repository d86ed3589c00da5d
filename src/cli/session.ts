import type { Command } from 'commander'
import type { AppPorts } from '../app/ports.ts'
import type { ExitCode } from '../base/catalogue/command.ts'
import type { Format } from './format.ts'
import type { Io } from './io.ts'
import type { Output } from './output.ts'
import { readStdin } from './stdin.ts'

/** The flags that every command knows. */
export interface GlobalFlags {
  /** Paths of `-c`, in their order; empty where none was given. */
  readonly config: readonly string[]
  /** From `--store`, `GW_STORE` or the default. */
  readonly store: string
  /** `--yes`: do not ask. */
  readonly yes: boolean
  /** False with `--no-input`: never wait for a person. */
  readonly input: boolean
}

/** What a command works with. */
export interface Session {
  readonly io: Io
  readonly out: Output
  readonly flags: GlobalFlags
  /**
   * Aborted, with the error to throw, by the first signal that asks the process to end. A command looks at it
   * before it changes something, so that "interrupted" always means "nothing was changed"; what has begun to
   * commit is finished. A second signal ends the process at once.
   */
  readonly signal: AbortSignal
  /** From now on a SIGHUP calls `listener` instead of ending the command, also while it comes to its end. */
  readonly onHangup: (listener: () => void) => void
}

/** The work of one command: its arguments as they came, and its own options. */
export type CommandHandler<Options extends object> = (
  session: Session,
  args: readonly string[],
  options: Options,
) => Promise<ExitCode>

/** Makes the action that commander calls. `formats` are those beyond text and JSON that the command knows. */
export type BindHandler = <Options extends object>(
  handler: CommandHandler<Options>,
  formats?: readonly Format[],
) => (...received: unknown[]) => Promise<void>

/**
 * A command line of one verb, made anew for each run: commander keeps what it parsed in it.
 *
 * @param program gives the whole command line, once it is complete.
 */
export type MakeCommand = (bind: BindHandler, program: () => Command) => Command

/** What the use cases of `app` ask of the world. */
export function appPorts(session: Session): AppPorts {
  const { environment, cwd, clock, random } = session.io
  return {
    environment,
    cwd,
    clock,
    random,
    signal: session.signal,
    readStdin: () => readStdin(session.io, session.signal),
  }
}
