import type { Kysely } from 'kysely'
import type { Tables } from '../tables.ts'
import type { NewLoginLink } from './types.ts'
import { known } from './users.ts'

type Db = Kysely<Tables>

/** Replaces the links of the user: one is open at a time. @throws {CommandError} not_found */
export async function insertLoginLink(db: Db, { digest, user, expiresAtMs }: NewLoginLink): Promise<void> {
  const { id } = await known(db, user)
  await db.deleteFrom('login_links').where('user_id', '=', id).execute()
  await db.insertInto('login_links').values({ digest, user_id: id, expires_at_ms: expiresAtMs }).execute()
}

/** Uses up a link. @returns the user; undefined if there is no such link, or it has expired. */
export async function takeLoginLink(db: Db, digest: string, nowMs: number): Promise<string | undefined> {
  const taken = await db
    .deleteFrom('login_links')
    .where('digest', '=', digest)
    .returning(['user_id', 'expires_at_ms'])
    .executeTakeFirst()
  if (!taken || taken.expires_at_ms <= nowMs) return undefined
  const user = await db
    .selectFrom('users')
    .select('name')
    .where('id', '=', taken.user_id)
    .where('enabled', '=', 1)
    .executeTakeFirst()
  return user?.name
}
