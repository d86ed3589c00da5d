import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Several gateways: each has a lane, with a journal and open holds of its own, and may have a supervisor. */
export const lanes: Migration = {
  async up(db: Kysely<never>) {
    await sql`alter table journal rename to former_journal`.execute(db)
    await sql`create table journal (
      lane integer primary key,
      journal_id text not null check (length(journal_id) = 32),
      folded_row integer not null
    ) strict`.execute(db)
    await sql`insert into journal (lane, journal_id, folded_row)
      select 0, journal_id, folded_row from former_journal`.execute(db)
    await sql`drop table former_journal`.execute(db)
    await sql`alter table open_holds add column lane integer not null default 0`.execute(db)
    // What other lanes hold of a balance is added up for each prepaid hold.
    await sql`create index open_holds_by_tenant on open_holds (tenant, lane) where tenant is not null`.execute(
      db,
    )
    await sql`alter table gateways add column supervisor_pid integer`.execute(db)
    await sql`alter table instances add column lane integer not null default 0`.execute(db)
    await sql`alter table instances add column is_whole integer not null default 0 check (is_whole in (0, 1))`.execute(
      db,
    )
  },
}
