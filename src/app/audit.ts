import type { Store } from '../store/types.ts'
import type { AuditLine } from '../store/users/types.ts'
import type { AppPorts } from './ports.ts'
import { loggedIn } from './revision-author.ts'

/** What was done, in the words of the control plane's operations, so that one question finds both. */
export type Deed = Pick<AuditLine, 'action' | 'target' | 'revision'>

/** Leaves a line in the audit: the person who is logged in to this machine has done it by the command line. */
export async function record(
  store: Pick<Store, 'users'>,
  deed: Deed,
  { environment }: Pick<AppPorts, 'environment'>,
): Promise<void> {
  const { author: user = 'unknown' } = loggedIn(environment)
  await store.users.record({ user, role: 'operator', origin: 'cli', ...deed })
}
