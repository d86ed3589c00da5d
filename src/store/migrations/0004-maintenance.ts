import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/** The switch of `gw maintenance`: a row while it is on. */
export const maintenance: Migration = {
  async up(db: Kysely<never>) {
    await db.schema
      .createTable('maintenance')
      .addColumn('id', 'integer', column => column.primaryKey().check(sql`id = 1`))
      .addColumn('message', 'text')
      .addColumn('author', 'text')
      .addColumn('since_ms', 'integer', column => column.notNull())
      .modifyEnd(sql`strict`)
      .execute()
  },
}
