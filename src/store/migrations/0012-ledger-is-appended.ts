import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/**
 * The same guard as before, which rolls back by itself: where a trigger may end its statement alone, SQLite copies each
 * page that the statement touches beforehand, for every row of the ledger. Who inserts has to say `or fail` for the
 * same reason: then no constraint ends the statement alone either.
 */
export const ledgerIsAppended: Migration = {
  async up(db: Kysely<never>) {
    await sql`drop trigger ledger_is_appended`.execute(db)
    await sql`create trigger ledger_is_appended before insert on ledger
      when new.id is not null and new.id <> -1 and new.id <= (select max(id) from ledger)
      begin select raise(rollback, 'the ledger is append-only'); end`.execute(db)
  },
}
