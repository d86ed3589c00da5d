import type { Kysely, Selectable } from 'kysely'
import { CommandError } from '../base/catalogue/command.ts'
import { type CanonicalSpec, KIND_NAMES, type Kind } from '../schema/kinds.ts'
import { chunks } from './chunks.ts'
import { type AccountNames, accountOfNew } from './renames.ts'
import type { ResourcesTable, Tables } from './tables.ts'
import type { Commit, OwnedResource, StoredResource } from './types.ts'

type Row = Selectable<ResourcesTable>
/** For more names than this, reading all resources is faster. */
const NAMES_AT_ONCE = 2_000

const RANK = new Map<Kind, number>(KIND_NAMES.map((kind, rank) => [kind, rank]))

/** By kind, in the order of references between kinds, then by name. */
export function compareResources(
  a: { readonly kind: Kind; readonly name: string },
  b: { readonly kind: Kind; readonly name: string },
): number {
  const rank = (RANK.get(a.kind) ?? 0) - (RANK.get(b.kind) ?? 0)
  if (rank !== 0) return rank
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0
}

/** The unique id of a resource: `kind/name`. */
export function resourceId(resource: { readonly kind: Kind; readonly name: string }): string {
  return `${resource.kind}/${resource.name}`
}

export async function selectResources(db: Kysely<Tables>): Promise<StoredResource[]> {
  const rows = await db.selectFrom('resources').selectAll().execute()
  return rows.map(fromRow).sort(compareResources)
}

/** The number of resources by kind, in the order of references between kinds. */
export async function selectCounts(db: Kysely<Tables>): Promise<Readonly<Record<string, number>>> {
  const rows = await db
    .selectFrom('resources')
    .select(({ fn }) => ['kind', fn.countAll<number>().as('count')])
    .groupBy('kind')
    .execute()
  const counts = new Map<string, number>(rows.map(({ kind, count }) => [kind, count]))
  return Object.fromEntries(
    KIND_NAMES.flatMap(kind => (counts.has(kind) ? [[kind, counts.get(kind) ?? 0]] : [])),
  )
}

/** The resources with the given names, as far as they exist. */
export async function selectNamed(
  db: Kysely<Tables>,
  wanted: readonly { readonly kind: Kind; readonly name: string }[],
): Promise<StoredResource[]> {
  const ids = new Set(wanted.map(resourceId))
  if (ids.size > NAMES_AT_ONCE) return (await selectResources(db)).filter(one => ids.has(resourceId(one)))
  const found: Row[] = []
  for (const kind of KIND_NAMES) {
    const names = wanted.filter(one => one.kind === kind).map(({ name }) => name)
    if (names.length === 0) continue
    const rows = db.selectFrom('resources').selectAll().where('kind', '=', kind).where('name', 'in', names)
    found.push(...(await rows.execute()))
  }
  return found.map(fromRow).sort(compareResources)
}

/**
 * The state of the named resources after a commit, with the revisions of their creation and last change.
 * @param before their state before the commit, under their new names.
 */
export function afterCommit(
  before: readonly StoredResource[],
  commit: Pick<Commit, 'puts' | 'deletes' | 'renames'>,
  revision: number,
  nowMs: number,
  names: AccountNames,
): StoredResource[] {
  const renamed = new Set(commit.renames?.map(({ kind, to }) => `${kind}/${to}`))
  const resources = new Map(before.map(resource => [resourceId(resource), resource]))
  for (const deleted of commit.deletes) resources.delete(resourceId(deleted))
  for (const put of commit.puts) {
    const old = resources.get(resourceId(put))
    const account = old && put.account === undefined ? old.account : accountOfNew(put, revision, names)
    const { account: _given, ...rest } = put
    resources.set(resourceId(put), {
      ...rest,
      ...(account !== undefined && { account }),
      createdRevision: old?.createdRevision ?? revision,
      updatedRevision:
        old && isSame(old, put) && !renamed.has(resourceId(put)) ? old.updatedRevision : revision,
      createdAtMs: old?.createdAtMs ?? nowMs,
    })
  }
  return [...resources.values()].sort(compareResources)
}

/**
 * Brings the table from `before` to `after`; both contain only the resources that the commit names, under their new
 * names. Unchanged rows are not written.
 */
export async function writeResources(
  db: Kysely<Tables>,
  commit: Pick<Commit, 'deletes'>,
  before: readonly StoredResource[],
  after: readonly StoredResource[],
): Promise<void> {
  for (const kind of KIND_NAMES) {
    const names = commit.deletes.filter(one => one.kind === kind).map(({ name }) => name)
    for (const some of chunks(names))
      await db.deleteFrom('resources').where('kind', '=', kind).where('name', 'in', some).execute()
  }
  const existing = new Map(before.map(resource => [resourceId(resource), JSON.stringify(toRow(resource))]))
  const rows = after.map(toRow).filter(row => existing.get(`${row.kind}/${row.name}`) !== JSON.stringify(row))
  for (const some of chunks(rows)) {
    await db
      .insertInto('resources')
      .values(some)
      .onConflict(conflict =>
        conflict.columns(['kind', 'name']).doUpdateSet(row => ({
          spec: row.ref('excluded.spec'),
          owner: row.ref('excluded.owner'),
          set_name: row.ref('excluded.set_name'),
          source_file: row.ref('excluded.source_file'),
          source_line: row.ref('excluded.source_line'),
          updated_revision: row.ref('excluded.updated_revision'),
          account: row.ref('excluded.account'),
        })),
      )
      .execute()
  }
}

function isSame(a: OwnedResource, b: OwnedResource): boolean {
  return a.owner === b.owner && a.set === b.set && JSON.stringify(a.spec) === JSON.stringify(b.spec)
}

export function toRow(resource: StoredResource): Row {
  return {
    kind: resource.kind,
    name: resource.name,
    spec: JSON.stringify(resource.spec),
    owner: resource.owner,
    set_name: resource.set ?? null,
    source_file: resource.place?.file ?? null,
    source_line: resource.place?.line ?? null,
    created_revision: resource.createdRevision,
    updated_revision: resource.updatedRevision,
    created_at_ms: resource.createdAtMs,
    account: resource.account ?? null,
  }
}

export function fromRow(row: Row): StoredResource {
  return {
    kind: row.kind as Kind,
    name: row.name,
    spec: JSON.parse(row.spec) as CanonicalSpec,
    owner: row.owner,
    ...(row.set_name !== null && { set: row.set_name }),
    ...(row.source_file !== null &&
      row.source_line !== null && { place: { file: row.source_file, line: row.source_line } }),
    createdRevision: row.created_revision,
    updatedRevision: row.updated_revision,
    createdAtMs: row.created_at_ms,
    ...(row.account !== null && { account: row.account }),
  }
}

/** @throws {CommandError} not_found */
export async function assertExists(db: Kysely<Tables>, kind: Kind, name: string): Promise<void> {
  const row = await db
    .selectFrom('resources')
    .select('name')
    .where('kind', '=', kind)
    .where('name', '=', name)
    .executeTakeFirst()
  if (!row) throw new CommandError('not_found', `There is no ${kind} ${name}.`)
}
