import type { Command } from 'commander'
import type { ExitCode } from '../base/catalogue/command.ts'
import { pluralize } from '../base/pluralize.ts'
import type { AppPorts } from '../services/context.ts'
import type { LiveStatsSources } from '../services/live-stats/monitor.ts'
import type { Format } from './format.ts'
import { type Io, readStdin } from './io.ts'
import type { Output } from './output/output.ts'

/** The flags of every command. */
export interface GlobalFlags {
  /** Paths of `-c`, in their order; empty without `-c`. */
  readonly config: readonly string[]
  /** From `--store`, `GW_STORE` or the default. */
  readonly store: string
  /** `--yes`: do not ask. */
  readonly yes: boolean
  /** False with `--no-input`: never wait for input. */
  readonly input: boolean
}

/** The context of a command. */
export interface Session {
  readonly io: Io
  readonly out: Output
  readonly flags: GlobalFlags
  /**
   * Aborted by the first ending signal; its reason is the error to throw. A command checks it before each change, so
   * that "interrupted" always means "nothing was changed"; a commit in progress is finished. A second signal ends the
   * process at once.
   */
  readonly signal: AbortSignal
  /** From now on SIGHUP calls `listener` instead of ending the command, also during its shutdown. */
  readonly onHangup: (listener: () => void) => void
}

/** The handler of one command, with its arguments and its own options. */
export type CommandHandler<Options extends object> = (
  session: Session,
  args: readonly string[],
  options: Options,
) => Promise<ExitCode>

/** Creates the action for commander. `formats` are the formats of the command beyond text and JSON. */
export type BindHandler = <Options extends object>(
  handler: CommandHandler<Options>,
  formats?: readonly Format[],
) => (...received: unknown[]) => Promise<void>

/**
 * Creates a command for one run: commander stores parsed values in it.
 *
 * @param program returns the complete program, after all commands were added.
 */
export type MakeCommand = (bind: BindHandler, program: () => Command) => Command

/** The ports of the use cases in `app`. */
export function appPorts(session: Session): AppPorts {
  const { environment, cwd, clock, random } = session.io
  return {
    environment,
    cwd,
    clock,
    random,
    signal: session.signal,
    readStdin: () => readStdin(session.io, session.signal),
    onMigration: pending =>
      session.out.info(
        `Converting the store for this version of gw (${pluralize(pending.length, 'step')}): a million calls take half a minute.`,
      ),
  }
}

/** The data sources of `gw top` and `gw status`. */
export function liveStatsSources({ flags, io }: Session, url: string | undefined): LiveStatsSources {
  const token = io.environment['METRICS_TOKEN']?.trim()
  return { storeUrl: flags.store, ...(url !== undefined && { url }), ...(token && { metricsToken: token }) }
}
