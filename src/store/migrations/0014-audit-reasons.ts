import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Why something was rejected, in the audit. A column at the end: no row is written again. */
export const auditReasons: Migration = {
  async up(db: Kysely<never>) {
    await sql`alter table audit add column reason text`.execute(db)
  },
}
