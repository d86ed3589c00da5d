import { setImmediate as others } from 'node:timers/promises'
import type { Insertable, Kysely, Selectable } from 'kysely'
import { KIND_NAMES, type Kind } from '../schema/kinds.ts'
import { chunks } from './chunks.ts'
import { type PlainSql, prepare } from './engine.ts'
import { inPages, PAGE_ROWS } from './pages.ts'
import { compareResources, fromRow, resourceId, toRow } from './resources.ts'
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
  for (const some of chunks(rows)) await db.insertInto('revision_changes').values(some).execute()
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
export async function readResourcesAt(raw: PlainSql, revision: number): Promise<StoredResource[]> {
  if (revision === 0) return []
  await assertKept(raw, revision)
  const before = await changedSince(raw, revision)
  const page = prepare<[Kind, string], Row>(raw, OF_KIND)
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
async function assertKept(raw: PlainSql, revision: number): Promise<void> {
  const known = await prepare<[number]>(raw, 'select 1 from revisions where id = ?').get(revision)
  if (known === undefined) throw noRevision(revision)
  const { from } = await selectStatesFrom(raw)
  if (revision < from) throw stateNotKept(revision, from)
}

/** The changes after a revision, by `kind/name`: the row as of that revision, null if there was none. */
async function changedSince(raw: PlainSql, revision: number): Promise<ReadonlyMap<string, Row | null>> {
  const page = prepare<[number, string, string], ChangeRow>(raw, CHANGES_SINCE)
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

async function withPlaces(
  raw: PlainSql,
  revision: number,
  resources: readonly StoredResource[],
): Promise<StoredResource[]> {
  const rows = await prepare<[number], { kind: string; name: string } & SourceLine>(raw, MADE_AT).all(
    revision,
  )
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
export async function statesToKeepFrom(
  raw: PlainSql,
  { keptSinceMs, leastBack }: StateRetention,
): Promise<{ readonly from: number; readonly isWorkLeft: boolean }> {
  const head = await selectStatesFrom(raw)
  const younger = await prepare<[number, number], { id: number }>(raw, FIRST_YOUNGER).get(
    head.from,
    keptSinceMs,
  )
  const current = (younger?.id ?? head.revision + 1) - 1
  const from = Math.max(head.from, Math.min(current, head.revision - leastBack))
  const isWorkLeft = from > head.from || (await prepare<[number]>(raw, ANY_OLDER).get(from)) !== undefined
  return { from, isWorkLeft }
}

async function selectStatesFrom(
  raw: PlainSql,
): Promise<{ readonly revision: number; readonly from: number }> {
  const row = await prepare<[], { revision: number; from: number }>(
    raw,
    'select revision, states_from as "from" from head',
  ).get()
  return row ?? { revision: 0, from: 0 }
}

/**
 * Deletes changes that only older states need, at most `maxRows`. Runs in a transaction. Returns how many it deleted.
 * @param from of {@link statesToKeepFrom}.
 */
export async function dropStates(raw: PlainSql, from: number, maxRows: number): Promise<number> {
  await prepare<[number, number]>(raw, 'update head set states_from = ? where states_from < ?').run(
    from,
    from,
  )
  const { changes } = await prepare<[number, number]>(raw, DELETE_OLDER).run(from, maxRows)
  return changes
}
