import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Which gateways serve the store, as each of them tells it: what stands here is news, not configuration. */
export const gateways: Migration = {
  async up(db: Kysely<never>) {
    await sql`create table gateways (
      id text primary key not null,
      pid integer not null,
      host text not null,
      version text,
      url text,
      started_at_ms integer not null,
      seen_at_ms integer not null,
      revision integer not null,
      key_version integer not null,
      refused_revision integer,
      refusal text
    ) strict, without rowid`.execute(db)
  },
}
