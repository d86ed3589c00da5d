import { type Kysely, type Selectable, sql } from 'kysely'
import { CommandError } from '../../base/catalogue/command.ts'
import { assertExists } from '../resources.ts'
import type { Tables, TokensTable } from '../tables.ts'
import type { NewToken, StoredToken, TokenOwner, TokenQuery, UsedToken } from './types.ts'
import { known, toUser, users } from './users.ts'

type Db = Kysely<Tables>

/** The limit per user: a script that makes a token per run must not fill the table. */
const MAX_PER_USER = 100

/** Runs in a transaction. @throws {CommandError} not_found, already_exists, usage */
export async function insertToken(db: Db, made: NewToken, nowMs: number): Promise<StoredToken> {
  const { id: userId, user } = await known(db, made.user)
  const { id, digest, name, scope, expiresAtMs } = made
  const tenant = user.tenant ?? made.tenant
  if (user.tenant !== undefined && made.tenant !== undefined && made.tenant !== user.tenant)
    throw new CommandError('usage', `${user.name} is bound to the tenant ${user.tenant}.`)
  if (tenant !== undefined) await assertExists(db, 'tenant', tenant)
  await db.deleteFrom('tokens').where('user_id', '=', userId).where('expires_at_ms', '<=', nowMs).execute()
  const existing = await db.selectFrom('tokens').select('name').where('user_id', '=', userId).execute()
  if (existing.some(other => other.name === name))
    throw new CommandError('already_exists', `${user.name} already has a token ${name}.`)
  if (existing.length >= MAX_PER_USER)
    throw new CommandError(
      'already_exists',
      `${user.name} has ${MAX_PER_USER} tokens: revoke those that are not used.`,
    )
  const row = {
    id,
    digest,
    user_id: userId,
    name,
    role: tenant === undefined ? user.role : ('tenant' as const),
    tenant: tenant ?? null,
    scope,
    created_at_ms: nowMs,
    expires_at_ms: expiresAtMs,
    used_at_ms: null,
  }
  await db.insertInto('tokens').values(row).execute()
  return toToken({ ...row, user: user.name })
}

export async function selectTokens(
  db: Db,
  { user, tenant, after, limit = 50 }: TokenQuery,
): Promise<StoredToken[]> {
  let query = tokens(db).orderBy('tokens.id').limit(limit)
  if (user !== undefined) query = query.where('users.name', '=', user)
  if (tenant !== undefined) query = query.where('tokens.tenant', '=', tenant)
  if (after !== undefined) query = query.where('tokens.id', '>', after)
  return (await query.execute()).map(toToken)
}

export async function selectToken(db: Db, id: string): Promise<StoredToken | undefined> {
  const row = await tokens(db).where('tokens.id', '=', id).executeTakeFirst()
  return row && toToken(row)
}

/**
 * The token of a digest, and its user with the rights of the token, which never exceed the current rights of the user.
 */
export async function selectUsedToken(db: Db, digest: string, nowMs: number): Promise<UsedToken | undefined> {
  const row = await tokens(db)
    .where('tokens.digest', '=', digest)
    .where('tokens.expires_at_ms', '>', nowMs)
    .where(userKeepsRights())
    .executeTakeFirst()
  const owner = row && (await users(db).where('name', '=', row.user).executeTakeFirst())
  if (!row || !owner) return undefined
  const { tenant: _own, ...fields } = toUser(owner)
  return {
    token: toToken(row),
    user: { ...fields, role: row.role, ...(row.tenant !== null && { tenant: row.tenant }) },
  }
}

/** A condition of SQL: the user is enabled, and is an administrator or still has the role and tenant of the token. */
export function userKeepsRights() {
  return sql<boolean>`users.enabled = 1 and (users.role = 'admin' or (users.role = tokens.role and users.tenant = tokens.tenant))`
}

/** @returns false if the owner has no such token. */
export async function deleteToken(db: Db, id: string, { user, tenant }: TokenOwner): Promise<boolean> {
  const token = await selectToken(db, id)
  if (!token || (user !== undefined && token.user !== user)) return false
  if (tenant !== undefined && token.tenant !== tenant) return false
  await db.deleteFrom('tokens').where('id', '=', id).execute()
  return true
}

/** Tokens of a deleted tenant are deleted: a later tenant of the same name is a different one. */
export async function deleteTokensOf(db: Db, tenant: string): Promise<void> {
  await db.deleteFrom('tokens').where('tenant', '=', tenant).execute()
}

/** Tokens with the names of their users. */
function tokens(db: Db) {
  return db
    .selectFrom('tokens')
    .innerJoin('users', 'users.id', 'tokens.user_id')
    .selectAll('tokens')
    .select('users.name as user')
}

function toToken(row: Selectable<TokensTable> & { readonly user: string }): StoredToken {
  return {
    id: row.id,
    name: row.name,
    user: row.user,
    role: row.role,
    ...(row.tenant !== null && { tenant: row.tenant }),
    scope: row.scope,
    createdAtMs: row.created_at_ms,
    expiresAtMs: row.expires_at_ms,
    ...(row.used_at_ms !== null && { usedAtMs: row.used_at_ms }),
  }
}
