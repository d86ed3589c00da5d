import type { Kysely } from 'kysely'
import { CommandError } from '../../base/catalogue/command.ts'
import type { Tables } from '../tables.ts'
import type { Commit, Live } from '../types.ts'
import { deleteTokensOf } from './tokens.ts'
import { deleteSessions } from './users.ts'

/** Users who may log in for a tenant, by name. */
export async function selectTenantUsers(db: Kysely<Tables>): Promise<NonNullable<Live['tenantUsers']>> {
  const rows = await enabledTenantUsers(db).orderBy('name').execute()
  return rows.flatMap(({ name, tenant }) => (tenant === null ? [] : { name, tenant }))
}

/**
 * Applies a commit to the users of deleted tenants: see {@link Commit.tenantUsers}. Call it after the renames.
 *
 * @param gone tenants that are deleted, or whose name another account takes over.
 * @throws {CommandError} still_referenced
 */
export async function applyToTenantUsers(
  db: Kysely<Tables>,
  gone: Commit['deletes'],
  policy: Commit['tenantUsers'],
): Promise<void> {
  for (const { kind, name: tenant } of gone) {
    if (kind !== 'tenant') continue
    await deleteTokensOf(db, tenant)
    const users = await enabledTenantUsers(db).where('tenant', '=', tenant).orderBy('name').execute()
    const names = users.map(({ name }) => name).join(', ')
    if (users.length > 0 && policy === 'reject') {
      throw new CommandError(
        'still_referenced',
        `The tenant ${tenant} cannot be deleted: ${names} may log in for it.`,
        {
          hint: 'Disable these users first, or bind them to another tenant.',
        },
      )
    }
    for (const { id, version } of users) {
      await db
        .updateTable('users')
        .set({ enabled: 0, version: version + 1 })
        .where('id', '=', id)
        .execute()
      await deleteSessions(db, id)
    }
  }
}

function enabledTenantUsers(db: Kysely<Tables>) {
  return db
    .selectFrom('users')
    .select(['id', 'name', 'tenant', 'version'])
    .where('tenant', 'is not', null)
    .where('enabled', '=', 1)
}
