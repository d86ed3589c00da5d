import type { DeclaredResource, Tree } from '../../config/types.ts'
import { compareResources, resourceId } from '../../store/resources.ts'
import type { Counts, Live, OwnedResource, StoredResource } from '../../store/types.ts'
import { deletionOf, fieldChanges } from './fields.ts'
import { assertOwnership, assertReferences, isOwn } from './ownership.ts'
import {
  dependentsOf,
  liveUnderNewNames,
  possibleRenames,
  renamesOf,
  withBindings,
  withOwnKeys,
} from './renames.ts'
import type { Plan, ResourceChange, Unmanaged } from './types.ts'
import { planWarnings } from './warnings.ts'

/**
 * The changes that an apply of `desired` would make to `live`. Both sides are canonical, so that an explicit default
 * is no change. Resources of the set that the tree lacks are deleted; those of other owners are not touched.
 *
 * @param adopted resources of the command line, REST or another set that the tree takes over, as `kind/name`.
 * @throws {ConflictError} already_exists for renames to a name that is in use, owned_by_other if the tree declares a resource of another owner, still_referenced if a reference would lose
 * its target.
 */
export function plan(live: Live, desired: Tree, adopted: ReadonlySet<string> = new Set()): Plan {
  const mayFollow = dependentsOf(desired.set)
  const renaming = renamesOf(live.resources, desired)
  const renames = withBindings(
    withOwnKeys(renaming.renames, live.resources, desired),
    live.resources,
    mayFollow,
  )
  // From here on, renamed resources count as if they always had the new name: the rest are true changes.
  const renamed = liveUnderNewNames(live, renames, mayFollow)
  const now = renamed.resources
  assertOwnership(now, desired, adopted)
  const after = afterwards(now, desired)
  assertReferences(after, desired)

  const existing = new Map(now.map(resource => [resourceId(resource), resource]))
  const oldNames = new Map(renames.map(({ kind, from, to }) => [`${kind}/${to}`, from]))
  const kept = new Set(desired.resources.map(resourceId))
  const updates = dependents(live.resources, now, kept)
  const deleted = now.filter(old => isOwn(old, desired.set) && !kept.has(resourceId(old)))
  const changes = [
    ...desired.resources.flatMap(declared =>
      changeOf(declared, existing.get(resourceId(declared)), oldNames.get(resourceId(declared)), desired.set),
    ),
    ...updates.map(({ change }) => change),
    ...deleted.map(deletionOf),
  ].sort(compareResources)
  return {
    base: live.head.revision,
    set: desired.set,
    changes,
    renames,
    dependents: updates.map(({ put }) => put),
    counts: countChanges(changes, desired),
    warnings: [
      ...planWarnings(
        renamed,
        after,
        desired.resources,
        now.filter(resource => isOwn(resource, desired.set)),
      ),
      ...renaming.warnings,
      ...possibleRenames(
        deleted,
        desired.resources.filter(declared => !existing.has(resourceId(declared))),
      ),
    ],
    unmanaged: unmanaged(
      now.filter(resource => !kept.has(resourceId(resource))),
      desired.set,
    ),
  }
}

/** The adopted resources of a plan, as `kind/name`. */
export function adoptedBy({ changes }: Plan): ReadonlySet<string> {
  return new Set(changes.filter(({ adoptedFrom }) => adoptedFrom !== undefined).map(resourceId))
}

/** The declared resource as the set owns it in the store. */
export function owned({ kind, name, spec, place }: DeclaredResource, set: string): OwnedResource {
  return { kind, name, spec, owner: 'config', set, place: { file: place.file, line: place.line } }
}

function afterwards(live: readonly OwnedResource[], desired: Tree): OwnedResource[] {
  const declared = new Set(desired.resources.map(resourceId))
  return [
    ...live.filter(resource => !isOwn(resource, desired.set) && !declared.has(resourceId(resource))),
    ...desired.resources.map(declared => owned(declared, desired.set)),
  ].sort(compareResources)
}

/** Updates of CLI and REST resources that refer to a renamed resource. */
function dependents(
  before: readonly StoredResource[],
  now: readonly StoredResource[],
  declared: ReadonlySet<string>,
): { readonly change: ResourceChange; readonly put: OwnedResource }[] {
  return now.flatMap((resource, at) => {
    const old = before[at]
    const { kind, name, spec, owner } = resource
    if (!old || owner === 'config' || declared.has(resourceId(resource))) return []
    const fields = fieldChanges(kind, old.spec, spec)
    if (fields.length === 0) return []
    const isRenamed = kind !== 'binding' && name !== old.name
    return [
      {
        change: { action: 'update', kind, name, fields, ...(isRenamed && { renamedFrom: old.name }) },
        put: { kind, name, spec, owner },
      },
    ]
  })
}

function changeOf(
  declared: DeclaredResource,
  old: StoredResource | undefined,
  renamedFrom: string | undefined,
  set: string,
): ResourceChange[] {
  const { kind, name, spec, place } = declared
  const fields = fieldChanges(kind, old?.spec ?? {}, spec)
  const adoptedFrom = !old || isOwn(old, set) ? undefined : old.owner
  // The name of a binding is derived, so a binding is reported only if another field changes.
  const isRenamed = renamedFrom !== undefined && kind !== 'binding'
  if (old && fields.length === 0 && adoptedFrom === undefined && !isRenamed) return []
  const action = old ? 'update' : 'create'
  return [
    {
      action,
      kind,
      name,
      fields,
      ...(adoptedFrom && { adoptedFrom }),
      ...(isRenamed && { renamedFrom }),
      place: { file: place.file, line: place.line },
    },
  ]
}

function countChanges(changes: readonly ResourceChange[], desired: Tree): Counts {
  const count = (action: ResourceChange['action']) =>
    changes.filter(change => change.action === action).length
  const [create, update] = [count('create'), count('update')]
  const touched = new Set(changes.map(resourceId))
  const unchanged = desired.resources.filter(declared => !touched.has(resourceId(declared))).length
  return { create, update, delete: count('delete'), unchanged }
}

function unmanaged(live: readonly StoredResource[], set: string): Unmanaged {
  const count = (which: (resource: StoredResource) => boolean) => live.filter(which).length
  return {
    otherSets: count(({ owner, set: other }) => owner === 'config' && other !== set),
    cli: count(({ owner }) => owner === 'cli'),
    rest: count(({ owner }) => owner === 'rest'),
  }
}
