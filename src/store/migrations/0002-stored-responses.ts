import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/** The ids of answers that upstreams keep, written with the settlement, until retention deletes them. */
export const storedResponses: Migration = {
  async up(db: Kysely<never>) {
    await sql`create table stored_responses (
      id text primary key not null,
      key_name text not null,
      tenant text,
      publication text not null,
      endpoint text not null,
      tokens integer not null,
      expires_at_ms integer not null
    ) strict, without rowid`.execute(db)
    // For retention.
    await sql`create index stored_responses_by_expiry on stored_responses (expires_at_ms)`.execute(db)
  },
}
