import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Each page of a resource shows its lines of the audit. */
export const auditIndexes: Migration = {
  async up(db: Kysely<never>) {
    await sql`create index audit_by_target on audit (target, id)`.execute(db)
    await sql`create index audit_by_action on audit (action, id)`.execute(db)
  },
}
