import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Causes in the call log, and a log of the calls that were refused before they were dispatched. */
export const refusedCalls: Migration = {
  async up(db: Kysely<never>) {
    await sql`alter table call_logs add column reason text`.execute(db)
    await sql`alter table call_logs add column failed_attempts text`.execute(db)
    // Its ids are never used twice: who follows the log asks for those above the last one.
    await sql`create table refused_calls (
      id integer primary key autoincrement,
      at_ms integer not null,
      request_id text not null,
      key_name text,
      tenant text,
      asked_model text,
      protocol text not null,
      path text not null,
      status integer not null,
      error_code text not null,
      message text not null,
      reason text,
      count integer not null check (count >= 1)
    ) strict`.execute(db)
  },
}
