import type { Clock } from '../base/clock.ts'
import type { PasswordHasher } from '../base/password.ts'
import type { Random } from '../base/random.ts'
import type { Store } from '../store/types.ts'
import type { UserStore } from '../store/users/types.ts'
import type { Check } from './changes/types.ts'

/** The user who requests an operation, and the interface that the request came by. */
export interface Actor {
  readonly origin: 'cli' | 'rest'
  /** Absent if the machine of a command names no user. */
  readonly name?: string
  readonly role: string
  /** Only resources of this tenant exist for the actor. Absent: all resources. */
  readonly tenant?: string
  /** Only for `rest`. */
  readonly address?: string
  readonly requestId?: string
}

/**
 * The context of the administrative operations. Each operation is one function `(context, input) → answer`, called by a
 * command and by a handler of REST alike; the answer is the document that both show.
 */
export interface Context {
  /** Rejects changes for which the actor has lost the right meanwhile. */
  readonly store: Store
  readonly actor: Actor
  readonly clock: Clock
  readonly random: Random
  /** Checked before anything is written, never after. */
  readonly signal: AbortSignal
  /** Whether a gateway could serve the changed resources. */
  readonly check: Check
  readonly hasher: Pick<PasswordHasher, 'hash'>
  /** Receives a line for each change. */
  readonly auditLog: Pick<UserStore, 'record'>
}

/** The part of a context that a change of the whole configuration needs. */
export type ChangeContext = Pick<Context, 'store' | 'actor' | 'signal' | 'check' | 'auditLog'>

/** The environment of the operations that read files or other processes. */
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
  /** Called before a store of an older gw is converted, with the names of the migrations. */
  readonly onMigration?: (pending: readonly string[]) => void
}
