import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/** One row: the journal that belongs to the store, and the last of its rows that is in the store. */
export const journal: Migration = {
  async up(db: Kysely<never>) {
    await sql`create table journal (
      id integer primary key check (id = 1),
      journal_id text not null check (length(journal_id) = 32),
      folded_row integer not null
    ) strict`.execute(db)
    await sql`insert into journal (id, journal_id, folded_row) values (1, lower(hex(randomblob(16))), 0)`.execute(
      db,
    )
  },
}
