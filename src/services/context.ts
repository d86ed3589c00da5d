import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'

/** The environment of the use cases. */
export interface AppPorts {
  /** Variables for `${GW_…}`, and the environment of `git`. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Absolute base path of relative paths. */
  readonly cwd: string
  readonly clock: Clock
  readonly random: Random
  /** Reads `-c -`. */
  readonly readStdin: () => Promise<Buffer>
  /** Aborts the work. Checked before anything is written, never after. */
  readonly signal: AbortSignal
}
