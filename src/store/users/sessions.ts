import type { Kysely } from 'kysely'
import { NO_LIMIT } from '../pages.ts'
import type { Tables } from '../tables.ts'
import { insertOrigins } from './login-origins.ts'
import type { NewSession, OpenSession } from './types.ts'
import { selectUser, toUser, users } from './users.ts'

type Db = Kysely<Tables>

/** Scripts that log in for each call must not fill the table. */
const MAX_PER_USER = 100

/**
 * Runs in a transaction: if the password was reset while the old one was verified, no session opens.
 * @returns undefined if the user may no longer log in with that password.
 */
export async function insertSession(
  db: Db,
  session: NewSession,
  nowMs: number,
): Promise<OpenSession | undefined> {
  const { digest, carrier, address } = session
  const found = await selectUser(db, session.user)
  if (!found?.user.enabled || found.passwordHash !== session.passwordHash) return undefined
  const { id, user } = found
  const times = { created_at_ms: nowMs, used_at_ms: nowMs }
  await db
    .insertInto('sessions')
    .values({ digest, user_id: id, carrier, address, ...times })
    .execute()
  await insertOrigins(db, id, session.origins ?? [], nowMs)
  await db.updateTable('users').set({ last_login_at_ms: nowMs }).where('id', '=', id).execute()
  await db
    .deleteFrom('sessions')
    .where('digest', 'in', excess => {
      return excess
        .selectFrom('sessions')
        .select('digest')
        .where('user_id', '=', id)
        .orderBy('created_at_ms', 'desc')
        .orderBy('digest')
        .limit(NO_LIMIT)
        .offset(MAX_PER_USER)
    })
    .execute()
  return { user, carrier, createdAtMs: nowMs, usedAtMs: nowMs }
}

export async function selectSession(db: Db, digest: string): Promise<OpenSession | undefined> {
  const row = await users(db)
    .innerJoin('sessions', 'sessions.user_id', 'users.id')
    .select(['sessions.carrier', 'sessions.created_at_ms as opened_at_ms', 'sessions.used_at_ms'])
    .where('sessions.digest', '=', digest)
    .where('users.enabled', '=', 1)
    .executeTakeFirst()
  if (!row) return undefined
  return {
    user: toUser(row),
    carrier: row.carrier,
    createdAtMs: row.opened_at_ms,
    usedAtMs: row.used_at_ms,
  }
}
