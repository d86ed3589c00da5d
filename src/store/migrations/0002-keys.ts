import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Secrets of keys, by their digests, and keys that were disabled by hand. */
export const keys: Migration = {
  async up(db: Kysely<never>) {
    // A secret outlives its key, revoked: its digest must stay taken, and a log line that names it must be explicable.
    await db.schema
      .createTable('key_secrets')
      .addColumn('id', 'integer', column => column.primaryKey())
      .addColumn('key_name', 'text', column => column.notNull())
      .addColumn('digest', 'text', column =>
        column.notNull().unique().check(sql`length(digest) = 64 and digest not glob '*[^0-9a-f]*'`),
      )
      .addColumn('created_at_ms', 'integer', column => column.notNull())
      .addColumn('expires_at_ms', 'integer')
      .addColumn('revoked_at_ms', 'integer')
      .modifyEnd(sql`strict`)
      .execute()
    await db.schema.createIndex('key_secrets_by_key').on('key_secrets').column('key_name').execute()

    await db.schema
      .createTable('key_holds')
      .addColumn('key_name', 'text', column => column.primaryKey().notNull())
      .addColumn('held_at_ms', 'integer', column => column.notNull())
      .modifyEnd(sql`strict`)
      .execute()
  },
}
