import { accountOf } from '../../store/renames.ts'
import { compareResources, resourceId } from '../../store/resources.ts'
import type { Counts, Rename, StoredResource } from '../../store/types.ts'
import { deletionOf, fieldChanges } from './fields.ts'
import { renamesBetween, underNewNames, withBindings } from './renames.ts'
import type { ResourceChange } from './types.ts'

/** The differences, in the order of plans, and their counts. */
export interface Difference {
  readonly changes: readonly ResourceChange[]
  /** Bindings included. */
  readonly renames: readonly Rename[]
  readonly counts: Counts
}

/**
 * The changes between two states of a store, over all owners. A resource with only a new owner is an update without
 * fields; a new line number is no change.
 */
export function changesBetween(
  before: readonly StoredResource[],
  after: readonly StoredResource[],
): Difference {
  const renames = withBindings(renamesBetween(before, after), before, () => true)
  const now = underNewNames(before, renames, () => true)
  const oldNames = new Map(renames.map(({ kind, from, to }) => [`${kind}/${to}`, from]))
  const old = new Map(now.map(resource => [resourceId(resource), resource]))
  const kept = new Set(after.map(resourceId))
  const changes = [
    ...after.flatMap(resource =>
      changeOf(resource, old.get(resourceId(resource)), oldNames.get(resourceId(resource))),
    ),
    ...now.filter(resource => !kept.has(resourceId(resource))).map(deletionOf),
  ].sort(compareResources)
  const count = (action: ResourceChange['action']) =>
    changes.filter(change => change.action === action).length
  const [create, update] = [count('create'), count('update')]
  return {
    changes,
    renames,
    counts: { create, update, delete: count('delete'), unchanged: after.length - create - update },
  }
}

function changeOf(
  resource: StoredResource,
  old: StoredResource | undefined,
  renamedFrom: string | undefined,
): ResourceChange[] {
  const { kind, name, spec, owner, set, place } = resource
  const isRenamed = renamedFrom !== undefined && kind !== 'binding'
  const fields = fieldChanges(kind, old?.spec ?? {}, spec)
  const isSameElse = old?.owner === owner && old.set === set && accountOf(old) === accountOf(resource)
  if (old && fields.length === 0 && isSameElse && !isRenamed) return []
  return [
    {
      action: old ? 'update' : 'create',
      kind,
      name,
      fields,
      ...(isRenamed && { renamedFrom }),
      ...(place && { place }),
    },
  ]
}
