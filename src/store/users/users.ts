import { type Kysely, type Selectable, sql } from 'kysely'
import { CommandError } from '../../base/catalogue/command.ts'
import { assertExists } from '../resources.ts'
import type { Tables, UsersTable } from '../tables.ts'
import { forgetDevices } from './login-origins.ts'
import type { NewUser, User, UserChange } from './types.ts'

type Db = Kysely<Tables>
type Row = Selectable<UsersTable> & { readonly sessions: number }

export async function selectUsers(
  db: Db,
  { after, limit = 50 }: { readonly after?: string; readonly limit?: number },
): Promise<User[]> {
  let query = users(db).orderBy('name').limit(limit)
  if (after !== undefined) query = query.where('name', '>', after)
  return (await query.execute()).map(toUser)
}

export async function selectUser(
  db: Db,
  name: string,
): Promise<{ readonly id: number; readonly user: User; readonly passwordHash: string } | undefined> {
  const row = await users(db).where('name', '=', name).executeTakeFirst()
  return row && { id: row.id, user: toUser(row), passwordHash: row.password_hash }
}

/** Runs in a transaction. @throws {CommandError} already_exists, not_found */
export async function insertUser(db: Db, made: NewUser, nowMs: number): Promise<User> {
  const { name, role, tenant, passwordHash } = made
  if (await selectUser(db, name)) throw new CommandError('already_exists', `A user ${name} already exists.`)
  if (tenant !== undefined) await assertExists(db, 'tenant', tenant)
  const row = { name, role, tenant: tenant ?? null, enabled: 1, password_hash: passwordHash }
  await db
    .insertInto('users')
    .values({ ...row, created_at_ms: nowMs, last_login_at_ms: null, version: 1 })
    .execute()
  return (await known(db, name)).user
}

/** Runs in a transaction. @throws {CommandError} not_found, revision_changed, last_admin */
export async function updateUser(
  db: Db,
  name: string,
  { place, enabled }: UserChange,
  version: number | undefined,
): Promise<User> {
  const { id, user } = await known(db, name)
  if (version !== undefined && version !== user.version) {
    throw new CommandError('revision_changed', `The user ${name} has changed since it was read.`)
  }
  const role = place?.role ?? user.role
  const tenant = place ? place.tenant : user.tenant
  const willBeEnabled = enabled ?? user.enabled
  if (role === user.role && tenant === user.tenant && willBeEnabled === user.enabled) return user
  if (tenant !== undefined && (place || willBeEnabled)) await assertExists(db, 'tenant', tenant)
  await db
    .updateTable('users')
    .set({ role, tenant: tenant ?? null, enabled: Number(willBeEnabled), version: user.version + 1 })
    .where('id', '=', id)
    .execute()
  if (user.role === 'admin' && user.enabled) await assertAdmin(db, name)
  if (place || !willBeEnabled) await deleteSessions(db, id)
  return (await known(db, name)).user
}

/** Runs in a transaction. @throws {CommandError} not_found */
export async function updatePassword(db: Db, name: string, passwordHash: string): Promise<void> {
  const { id, user } = await known(db, name)
  const set = { password_hash: passwordHash, version: user.version + 1 }
  await db.updateTable('users').set(set).where('id', '=', id).execute()
  await forgetDevices(db, id)
  await deleteSessions(db, id)
}

/** @throws {CommandError} not_found */
export async function known(
  db: Db,
  name: string,
): Promise<{ readonly id: number; readonly user: User; readonly passwordHash: string }> {
  const found = await selectUser(db, name)
  if (found) return found
  throw new CommandError('not_found', `There is no user ${name}.`, { hint: '`gw users list` shows all.' })
}

/** Returns how many it deleted. Links that would open one end, too. */
export async function deleteSessions(db: Db, userId: number): Promise<number> {
  await db.deleteFrom('login_links').where('user_id', '=', userId).execute()
  const { numDeletedRows } = await db
    .deleteFrom('sessions')
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow()
  return Number(numDeletedRows)
}

export function toUser(row: Row): User {
  return {
    name: row.name,
    role: row.role,
    ...(row.tenant !== null && { tenant: row.tenant }),
    enabled: row.enabled === 1,
    createdAtMs: row.created_at_ms,
    ...(row.last_login_at_ms !== null && { lastLoginAtMs: row.last_login_at_ms }),
    version: row.version,
    sessions: row.sessions,
  }
}

export function users(db: Db) {
  return db
    .selectFrom('users')
    .selectAll('users')
    .select(sql<number>`(select count(*) from sessions where user_id = users.id)`.as('sessions'))
}

/** Without an enabled administrator no user could log in to enable one. */
async function assertAdmin(db: Db, name: string): Promise<void> {
  const admin = await db
    .selectFrom('users')
    .select('name')
    .where('role', '=', 'admin')
    .where('enabled', '=', 1)
    .executeTakeFirst()
  if (!admin) throw new CommandError('last_admin', `${name} is the last administrator who can log in.`)
}
