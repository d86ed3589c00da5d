import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/**
 * The node of each call, in the call log. A column at the end: no row is written again. In `call_log_values` it is
 * filter 6.
 */
export const callNodes: Migration = {
  async up(db: Kysely<never>) {
    await sql`alter table call_logs add column node_id integer`.execute(db)
  },
}
