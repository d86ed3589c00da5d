import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/**
 * What the call log is told of a call that never ended, because its gateway did: by which path it came, and whether
 * it was a stream. Null where the log has no line for such calls.
 */
export const interruptedCalls: Migration = {
  async up(db: Kysely<never>) {
    await sql`alter table open_holds add column path text`.execute(db)
    await sql`alter table open_holds add column stream integer`.execute(db)
  },
}
