import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/** The columns that code and documents call by other names now. */
export const standardNames: Migration = {
  async up(db: Kysely<never>) {
    await sql`alter table key_holds rename column held_at_ms to suspended_at_ms`.execute(db)
    await sql`alter table key_holds rename to key_suspensions`.execute(db)
    await sql`alter table ledger rename column marks to flags`.execute(db)
    await sql`alter table call_logs rename column marks to flags`.execute(db)
    await sql`alter table refused_calls rename to rejected_calls`.execute(db)
    await sql`alter table gateways rename column refused_revision to rejected_revision`.execute(db)
    await sql`alter table gateways rename column refusal to rejection`.execute(db)
  },
}
