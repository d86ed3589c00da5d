import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/**
 * Usage that is not counted in tokens: milliseconds of audio, characters, images. Null in the entries from before. No
 * index: the columns are only added up.
 */
export const usageUnits: Migration = {
  async up(db: Kysely<never>) {
    for (const column of ['duration_ms', 'characters', 'images']) {
      const name = sql.ref(column)
      const range = sql`check (${name} between 0 and 1000000000000)`
      await sql`alter table ledger add column ${name} integer ${range}`.execute(db)
      await sql`alter table usage_quarters add column ${name} integer not null default 0`.execute(db)
      await sql`alter table call_logs add column ${name} integer`.execute(db)
    }
  },
}
