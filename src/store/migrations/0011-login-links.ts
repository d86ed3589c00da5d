import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/** One-time log-in links of users, by the digest of their token. */
export const loginLinks: Migration = {
  async up(db: Kysely<never>) {
    await sql`create table login_links (
      digest text primary key not null check (length(digest) = 64),
      user_id integer not null references users (id) on delete cascade,
      expires_at_ms integer not null
    ) strict, without rowid`.execute(db)
    await sql`create index login_links_by_user on login_links (user_id)`.execute(db)
  },
}
