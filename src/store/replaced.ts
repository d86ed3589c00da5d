import { accountOf, OWN_ACCOUNTS } from './renames.ts'
import { resourceId } from './resources.ts'
import type { StoredResource } from './types.ts'

/**
 * Tenants and keys in whose name another account takes over, as a rollback may bring back: secrets and users of the present one
 * must not get what belongs to the other.
 */
export function replacedIn(
  before: readonly StoredResource[],
  after: readonly StoredResource[],
): readonly StoredResource[] {
  const accounts = new Map(after.map(resource => [resourceId(resource), accountOf(resource)]))
  return before.filter(old => {
    const account = OWN_ACCOUNTS.has(old.kind) ? accounts.get(resourceId(old)) : undefined
    return account !== undefined && account !== accountOf(old)
  })
}
