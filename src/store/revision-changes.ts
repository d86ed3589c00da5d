import type { Insertable, Kysely } from 'kysely'
import { ROWS_AT_ONCE, resourceId, toRow } from './resources.ts'
import type { RevisionChangesTable, Tables } from './tables.ts'
import type { StoredResource } from './types.ts'

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
