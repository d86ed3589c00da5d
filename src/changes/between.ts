import { compareResources, resourceId } from '../store/resources.ts'
import type { Counts, StoredResource } from '../store/types.ts'
import { fieldChanges } from './fields.ts'
import type { ResourceChange } from './types.ts'

/** What differs, in the order of plans, and how much of it. */
export interface Difference {
  readonly changes: readonly ResourceChange[]
  readonly counts: Counts
}

/**
 * What makes one state of a store out of another, of all owners. A resource that only changed hands is an update
 * without fields; a line that moved is no change.
 */
export function changesBetween(
  before: readonly StoredResource[],
  after: readonly StoredResource[],
): Difference {
  const old = new Map(before.map(resource => [resourceId(resource), resource]))
  const kept = new Set(after.map(resourceId))
  const changes = [
    ...after.flatMap(resource => changeOf(resource, old.get(resourceId(resource)))),
    ...before.filter(resource => !kept.has(resourceId(resource))).map(deletion),
  ].sort(compareResources)
  const count = (action: ResourceChange['action']) =>
    changes.filter(change => change.action === action).length
  const [create, update] = [count('create'), count('update')]
  return {
    changes,
    counts: { create, update, delete: count('delete'), unchanged: after.length - create - update },
  }
}

function changeOf(resource: StoredResource, old: StoredResource | undefined): ResourceChange[] {
  const { kind, name, spec, owner, set, place } = resource
  const fields = fieldChanges(kind, old?.spec ?? {}, spec)
  if (old && fields.length === 0 && old.owner === owner && old.set === set) return []
  return [{ action: old ? 'update' : 'create', kind, name, fields, ...(place && { place }) }]
}

function deletion({ kind, name, place }: StoredResource): ResourceChange {
  return { action: 'delete', kind, name, fields: [], ...(place && { place }) }
}
