import { type Kysely, sql } from 'kysely'
import { ApiError } from '../../base/catalogue/api.ts'
import type { Tables } from '../tables.ts'
import { userKeepsRights } from './tokens.ts'
import type { Authority } from './types.ts'

/**
 * Checks, inside the transaction of a change, that the session of the request is still valid with the same role, and
 * that the target of the change still belongs to the tenant of its user.
 * @throws {ApiError} not_logged_in, not_found
 */
export async function assertAuthority(
  db: Kysely<Tables>,
  { session, role, target }: Authority,
): Promise<void> {
  const user = await db
    .selectFrom('users')
    .innerJoin('sessions', 'sessions.user_id', 'users.id')
    .select('users.tenant')
    .where('sessions.digest', '=', session)
    .where('users.enabled', '=', 1)
    .where('users.role', '=', role)
    .executeTakeFirst()
  const by = user ?? (await tokenUser(db, session, role))
  if (!by) throw new ApiError('not_logged_in')
  if (!target) return
  const { kind, name } = target
  const owner = kind === 'tenant' ? sql<string>`name` : sql<string | null>`spec ->> 'tenant'`
  const resource = await db
    .selectFrom('resources')
    .select(owner.as('tenant'))
    .where('kind', '=', kind)
    .where('name', '=', name)
    .executeTakeFirst()
  if (resource && resource.tenant !== null && resource.tenant === by.tenant) return
  throw new ApiError('not_found', `There is no ${kind} ${name}.`)
}

/** The user of a personal access token. Ignores its expiry, which was checked just before. */
function tokenUser(
  db: Kysely<Tables>,
  digest: string,
  role: Authority['role'],
): Promise<{ readonly tenant: string | null } | undefined> {
  return db
    .selectFrom('tokens')
    .innerJoin('users', 'users.id', 'tokens.user_id')
    .select('tokens.tenant')
    .where('tokens.digest', '=', digest)
    .where('tokens.role', '=', role)
    .where(userKeepsRights())
    .executeTakeFirst()
}
