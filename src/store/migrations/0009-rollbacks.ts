import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Which revision a rollback has made stand again; null where it is no rollback. */
export const rollbacks: Migration = {
  async up(db: Kysely<never>) {
    await sql`alter table revisions add column restores integer`.execute(db)
  },
}
