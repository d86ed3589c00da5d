import { setImmediate as others } from 'node:timers/promises'
import type Database from 'better-sqlite3'
import type { Insertable, Kysely, Selectable } from 'kysely'
import { KIND_NAMES, type Kind } from '../schema/kinds.ts'
import { inPages, PAGE_ROWS } from './pages.ts'
import { compareResources, fromRow, ROWS_AT_ONCE, resourceId, toRow } from './resources.ts'
import { noRevision, stateNotKept } from './revisions.ts'
import type { ResourcesTable, RevisionChangesTable, Tables } from './tables.ts'
import type { SourceLine, StateRetention, StoredResource } from './types.ts'

type Row = Selectable<ResourcesTable>

interface ChangeRow extends Omit<Row, 'spec'> {
  readonly revision: number
  /** Null if the resource did not exist before. */
  readonly spec: string | null
}

const OF_KIND = `select * from resources where kind = ? and name > ? order by name limit ${PAGE_ROWS}`

/** One range of the primary key, in its order. */
const CHANGES_SINCE = `
  select revision, kind, name, before_spec as spec, before_owner as owner, before_set_name as set_name,
    before_source_file as source_file, before_source_line as source_line,
    before_created_revision as created_revision, before_updated_revision as updated_revision,
    before_created_at_ms as created_at_ms, before_account as account
  from revision_changes where (revision, kind, name) > (?, ?, ?) order by revision, kind, name limit ${PAGE_ROWS}`

const MADE_AT = `
  select kind, name, made_file as file, made_line as line from revision_changes
  where revision = ? and made_file is not null`

/** Enough to free the pages of a batch of deletions, too few to block the thread for long. */
const VACUUM_PAGES = 50

const FIRST_YOUNGER = `select id from revisions where id > ? and created_at_ms > ? order by id limit 1`
const ANY_OLDER = `select 1 from revision_changes where revision <= ? limit 1`
const DELETE_OLDER = `
  delete from revision_changes where (revision, kind, name) in (
    select revision, kind, name from revision_changes where revision <= ? order by revision limit ?)`

/**
 * Writes the changes of a revision: for each resource that it created, changed or deleted, the previous row. A change
 * of only the line does not count.
 * @param before under the old names, `after` under the new ones; both contain only the resources that the commit names.
 */
export async function insertChanges(
  db: Kysely<Tables>,
  revision: number,
  before: readonly StoredResource[],
  after: readonly StoredResource[],
): Promise<void> {
  const olds = new Map(before.map(resource => [resourceId(resource), resource]))
  const made = new Set(after.map(resourceId))
  const rows = [
    ...after.flatMap(resource => {
      const old = olds.get(resourceId(resource))
      return old && contentOf(old) === contentOf(resource) ? [] : [changeRow(revision, old, resource)]
    }),
    ...before.filter(old => !made.has(resourceId(old))).map(old => changeRow(revision, old, undefined)),
  ]
  for (let start = 0; start < rows.length; start += ROWS_AT_ONCE) {
    await db
      .insertInto('revision_changes')
      .values(rows.slice(start, start + ROWS_AT_ONCE))
      .execute()
  }
}

/** All of a resource but its line. */
function contentOf(resource: StoredResource): string {
  return JSON.stringify({ ...toRow(resource), source_file: null, source_line: null })
}

function changeRow(
  revision: number,
  old: StoredResource | undefined,
  made: StoredResource | undefined,
): Insertable<RevisionChangesTable> {
  const { kind, name } = (made ?? old) as StoredResource
  const before = old && toRow(old)
  return {
    revision,
    kind,
    name,
    before_spec: before?.spec ?? null,
    before_owner: before?.owner ?? null,
    before_set_name: before?.set_name ?? null,
    before_source_file: before?.source_file ?? null,
    before_source_line: before?.source_line ?? null,
    before_created_revision: before?.created_revision ?? null,
    before_updated_revision: before?.updated_revision ?? null,
    before_created_at_ms: before?.created_at_ms ?? null,
    before_account: before?.account ?? null,
    made_file: made?.place?.file ?? null,
    made_line: made?.place?.line ?? null,
  }
}

/**
 * All resources as of a revision: the current resources with later changes undone. Read a page at a time, yielding to
 * the event loop between two pages.
 * For resources that the revision changed, a line refers to the files of that revision; for any other resource it is
 * the last line that this version of the resource had.
 * @throws {CommandError} not_found if there is no such revision, or its state is no longer kept.
 */
export async function readResourcesAt(raw: Database.Database, revision: number): Promise<StoredResource[]> {
  if (revision === 0) return []
  assertKept(raw, revision)
  const before = await changedSince(raw, revision)
  const page = raw.prepare<[Kind, string], Row>(OF_KIND)
  const resources: StoredResource[] = []
  for (const kind of KIND_NAMES) {
    const pages = inPages(
      '',
      after => page.all(kind, after),
      ({ name }) => name,
    )
    for await (const rows of pages) {
      for (const row of rows) if (!before.has(`${kind}/${row.name}`)) resources.push(fromRow(row))
    }
  }
  let read = 0
  for (const row of before.values()) {
    if (row) resources.push(fromRow(row))
    if (++read % PAGE_ROWS === 0) await others()
  }
  return withPlaces(raw, revision, resources.sort(compareResources))
}

/** @throws {CommandError} not_found */
function assertKept(raw: Database.Database, revision: number): void {
  const known = raw.prepare<[number], number>('select 1 from revisions where id = ?').pluck().get(revision)
  if (known === undefined) throw noRevision(revision)
  const statesFrom = raw.prepare<[], number>('select states_from from head').pluck().get() ?? 0
  if (revision < statesFrom) throw stateNotKept(revision, statesFrom)
}

/** The changes after a revision, by `kind/name`: the row as of that revision, null if there was none. */
async function changedSince(
  raw: Database.Database,
  revision: number,
): Promise<ReadonlyMap<string, Row | null>> {
  const page = raw.prepare<[number, string, string], ChangeRow>(CHANGES_SINCE)
  const before = new Map<string, Row | null>()
  const pages = inPages(
    { revision: revision + 1, kind: '', name: '' },
    after => page.all(after.revision, after.kind, after.name),
    row => row,
  )
  for await (const rows of pages) {
    for (const { revision: _, spec, ...row } of rows) {
      const id = `${row.kind}/${row.name}`
      // The first change after the revision has the row as of the revision.
      if (!before.has(id)) before.set(id, spec === null ? null : { ...row, spec })
    }
  }
  return before
}

function withPlaces(
  raw: Database.Database,
  revision: number,
  resources: readonly StoredResource[],
): StoredResource[] {
  const rows = raw.prepare<[number], { kind: string; name: string } & SourceLine>(MADE_AT).all(revision)
  const places = new Map(rows.map(({ kind, name, file, line }) => [`${kind}/${name}`, { file, line }]))
  return resources.map(resource => {
    const place = resource.place && places.get(resourceId(resource))
    return place ? { ...resource, place } : resource
  })
}

/**
 * The oldest revision with a kept state: the one that was current when the retention period began, but at least
 * `leastBack` revisions back. Reads no more revisions than it advances.
 */
export function statesToKeepFrom(
  raw: Database.Database,
  { keptSinceMs, leastBack }: StateRetention,
): { readonly from: number; readonly isWorkLeft: boolean } {
  const head = raw
    .prepare<[], { revision: number; from: number }>('select revision, states_from as "from" from head')
    .get() as { revision: number; from: number }
  const younger = raw.prepare<[number, number], number>(FIRST_YOUNGER).pluck().get(head.from, keptSinceMs)
  const current = (younger ?? head.revision + 1) - 1
  const from = Math.max(head.from, Math.min(current, head.revision - leastBack))
  const isWorkLeft = from > head.from || raw.prepare(ANY_OLDER).get(from) !== undefined
  return { from, isWorkLeft }
}

/**
 * Deletes changes that only older states need, at most `maxRows`. Runs in a transaction. Returns how many it deleted.
 * @param from of {@link statesToKeepFrom}.
 */
export function dropStates(raw: Database.Database, from: number, maxRows: number): number {
  raw.prepare('update head set states_from = ? where states_from < ?').run(from, from)
  const { changes } = raw.prepare(DELETE_OLDER).run(from, maxRows)
  raw.pragma(`incremental_vacuum(${VACUUM_PAGES})`)
  return changes
}
