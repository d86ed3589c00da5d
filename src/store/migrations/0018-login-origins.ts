import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/**
 * From where users have logged in: `network 192.0.2.1`, `network 2001:db8:1:2::/64`, or `device` and the SHA-256 of a
 * cookie. Those go before others where many log in at once.
 */
export const loginOrigins: Migration = {
  async up(db: Kysely<never>) {
    await sql`create table login_origins (
      user_id integer not null references users (id) on delete cascade,
      origin text not null,
      used_at_ms integer not null,
      primary key (user_id, origin)
    ) strict, without rowid`.execute(db)
  },
}
