import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/** Resources, their history and the head that a poll compares. */
export const configuration: Migration = {
  async up(db: Kysely<never>) {
    await db.schema
      .createTable('head')
      .addColumn('id', 'integer', column => column.primaryKey().check(sql`id = 1`))
      .addColumn('revision', 'integer', column => column.notNull())
      .addColumn('key_version', 'integer', column => column.notNull())
      .modifyEnd(sql`strict`)
      .execute()
    await sql`insert into head (id, revision, key_version) values (1, 0, 0)`.execute(db)

    await db.schema
      .createTable('revisions')
      .addColumn('id', 'integer', column => column.primaryKey())
      .addColumn('base', 'integer', column => column.notNull().check(sql`base = id - 1`))
      .addColumn('set_name', 'text')
      .addColumn('origin', 'text', column => column.notNull())
      .addColumn('author', 'text')
      .addColumn('git_commit', 'text')
      .addColumn('created_at_ms', 'integer', column => column.notNull())
      .addColumn('counts', 'text', column => column.notNull())
      .addColumn('document', 'text', column => column.notNull())
      .modifyEnd(sql`strict`)
      .execute()
    await sql`create trigger revisions_are_not_updated before update on revisions
      begin select raise(abort, 'revisions are append-only'); end`.execute(db)
    await sql`create trigger revisions_are_not_deleted before delete on revisions
      begin select raise(abort, 'revisions are append-only'); end`.execute(db)
    // Without this one `insert or replace` would rewrite history: it deletes without firing delete triggers.
    await sql`create trigger revisions_are_appended before insert on revisions
      when new.id <> coalesce((select max(id) from revisions), 0) + 1
      begin select raise(abort, 'revisions are append-only'); end`.execute(db)

    await db.schema
      .createTable('resources')
      .addColumn('kind', 'text', column => column.notNull())
      .addColumn('name', 'text', column => column.notNull())
      .addColumn('spec', 'text', column => column.notNull())
      .addColumn('owner', 'text', column => column.notNull().check(sql`owner in ('config', 'cli', 'rest')`))
      .addColumn('set_name', 'text', column => column.check(sql`(set_name is not null) = (owner = 'config')`))
      .addColumn('source_file', 'text')
      .addColumn('source_line', 'integer')
      .addColumn('created_revision', 'integer', column => column.notNull().references('revisions.id'))
      .addColumn('updated_revision', 'integer', column => column.notNull().references('revisions.id'))
      .addColumn('created_at_ms', 'integer', column => column.notNull())
      .addPrimaryKeyConstraint('resources_are_named_once', ['kind', 'name'])
      .modifyEnd(sql`strict`)
      .execute()
  },
}
