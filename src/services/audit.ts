import type { Store } from '../store/types.ts'
import type { AuditLine } from '../store/users/types.ts'
import type { AppPorts } from './context.ts'
import { loggedIn } from './revision-author.ts'

/** The action in the vocabulary of the REST operations, so that one audit query finds both. */
export type AuditedAction = Pick<AuditLine, 'action' | 'target' | 'revision'>

/** Writes an audit entry for a CLI action. The user is the one logged in to this machine. */
export async function record(
  store: Pick<Store, 'users'>,
  action: AuditedAction,
  { environment }: Pick<AppPorts, 'environment'>,
): Promise<void> {
  const { author: user = 'unknown' } = loggedIn(environment)
  await store.users.record({ user, role: 'operator', origin: 'cli', ...action })
}
