import type { Kysely } from 'kysely'
import { NO_LIMIT } from '../pages.ts'
import type { Tables } from '../tables.ts'

type Db = Kysely<Tables>

/** How many origins are kept per user. */
const MAX_PER_USER = 64

/** The given origins from which the user has logged in before; for an unknown user none, in the same time. */
export async function selectKnownOrigins(
  db: Db,
  user: string,
  origins: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await db
    .selectFrom('login_origins')
    .innerJoin('users', 'users.id', 'login_origins.user_id')
    .select('origin')
    .where('users.name', '=', user)
    .where('origin', 'in', origins)
    .execute()
  return new Set(rows.map(({ origin }) => origin))
}

/** Runs in the transaction that opens a session. */
export async function insertOrigins(
  db: Db,
  userId: number,
  origins: readonly string[],
  nowMs: number,
): Promise<void> {
  for (const origin of origins) {
    await db
      .insertInto('login_origins')
      .values({ user_id: userId, origin, used_at_ms: nowMs })
      .onConflict(conflict => conflict.columns(['user_id', 'origin']).doUpdateSet({ used_at_ms: nowMs }))
      .execute()
  }
  await db
    .deleteFrom('login_origins')
    .where('user_id', '=', userId)
    .where('origin', 'in', excess =>
      excess
        .selectFrom('login_origins')
        .select('origin')
        .where('user_id', '=', userId)
        .orderBy('used_at_ms', 'desc')
        .orderBy('origin')
        .limit(NO_LIMIT)
        .offset(MAX_PER_USER),
    )
    .execute()
}

/** Called with a new password: a cookie can be stolen together with the old one, an address cannot. */
export async function forgetDevices(db: Db, userId: number): Promise<void> {
  await db
    .deleteFrom('login_origins')
    .where('user_id', '=', userId)
    .where('origin', 'like', 'device %')
    .execute()
}
