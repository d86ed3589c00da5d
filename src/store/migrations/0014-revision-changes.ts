import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/**
 * What each revision changed, in place of all that stood at it: a row for each resource that it made, changed or took
 * away, with what stood before. A state is read backwards: what stands now, less what was changed since.
 *
 * `before_…` are the columns of `resources` as they were; all null where nothing stood. `made_file` and `made_line` are
 * where the files declared what the revision made. States from `states_from` on can be read; retention moves it forward and
 * deletes the rows that are needed for older ones alone.
 */
export const revisionChanges: Migration = {
  async up(db: Kysely<never>) {
    await sql`create table revision_changes (
      revision integer not null,
      kind text not null,
      name text not null,
      before_spec text,
      before_owner text,
      before_set_name text,
      before_source_file text,
      before_source_line integer,
      before_created_revision integer,
      before_updated_revision integer,
      before_created_at_ms integer,
      before_account text,
      made_file text,
      made_line integer,
      primary key (revision, kind, name)
    ) strict, without rowid`.execute(db)
    await sql`alter table head add column states_from integer not null default 0`.execute(db)
    await convertDocuments(db)
    await sql`alter table revisions drop column document`.execute(db)
    await sql`create trigger revision_changes_are_not_updated before update on revision_changes
      begin select raise(abort, 'revisions are append-only'); end`.execute(db)
    await sql`create trigger revision_changes_are_kept before delete on revision_changes
      when old.revision > (select states_from from head)
      begin select raise(abort, 'revisions are append-only'); end`.execute(db)
    // Also against `insert or replace`, which deletes without firing delete triggers.
    await sql`create trigger revision_changes_are_appended before insert on revision_changes
      when new.revision <> (select max(id) from revisions) or exists (
        select 1 from revision_changes where revision = new.revision and kind = new.kind and name = new.name)
      begin select raise(abort, 'revisions are append-only'); end`.execute(db)
  },
}

/** A resource in the document of a revision: the columns of `resources`, its spec as JSON. */
interface Entry {
  readonly kind: string
  readonly name: string
  readonly spec: unknown
  readonly owner: string
  readonly set_name: string | null
  readonly source_file: string | null
  readonly source_line: number | null
  readonly created_revision: number
  readonly updated_revision: number
  readonly created_at_ms: number
  /** Not there in revisions of an older gw. */
  readonly account?: string | null
}

/** Two documents are in memory at a time, each as the entries by their names. */
async function convertDocuments(db: Kysely<never>): Promise<void> {
  let before = new Map<string, Entry>()
  for (let revision = 1; ; revision++) {
    const { rows } = await sql<{ document: string }>`
      select document from revisions where id = ${revision}`.execute(db)
    const [row] = rows
    if (!row) return
    const after = new Map(
      (JSON.parse(row.document) as Entry[]).map(entry => [`${entry.kind}/${entry.name}`, entry]),
    )
    for (const [id, entry] of after) {
      const old = before.get(id)
      if (!old || !isSame(old, entry)) await insertChange(db, revision, old, entry)
    }
    for (const [id, entry] of before) {
      if (!after.has(id)) await insertChange(db, revision, entry, undefined)
    }
    before = after
  }
}

function isSame(a: Entry, b: Entry): boolean {
  return contentOf(a) === contentOf(b)
}

/** All of it but its line. */
function contentOf({
  spec,
  owner,
  set_name,
  created_revision,
  updated_revision,
  created_at_ms,
  account,
}: Entry) {
  return JSON.stringify([
    spec,
    owner,
    set_name,
    created_revision,
    updated_revision,
    created_at_ms,
    account ?? null,
  ])
}

async function insertChange(
  db: Kysely<never>,
  revision: number,
  old: Entry | undefined,
  made: Entry | undefined,
): Promise<void> {
  const { kind, name } = (made ?? old) as Entry
  await sql`insert into revision_changes values (${revision}, ${kind}, ${name},
    ${old ? JSON.stringify(old.spec) : null}, ${old?.owner ?? null}, ${old?.set_name ?? null},
    ${old?.source_file ?? null}, ${old?.source_line ?? null}, ${old?.created_revision ?? null},
    ${old?.updated_revision ?? null}, ${old?.created_at_ms ?? null}, ${old?.account ?? null},
    ${made?.source_file ?? null}, ${made?.source_line ?? null})`.execute(db)
}
