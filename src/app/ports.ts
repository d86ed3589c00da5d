import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'

/** What the use cases need of the world around them. */
export interface AppPorts {
  /** Variables for `${GW_…}`, and what `git` runs with. */
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Absolute path from which relative ones count. */
  readonly cwd: string
  readonly clock: Clock
  readonly random: Random
  /** Reads `-c -`. */
  readonly readStdin: () => Promise<Buffer>
  /** Aborted where the work should end; it is looked at before anything is written, never after. */
  readonly signal: AbortSignal
}
