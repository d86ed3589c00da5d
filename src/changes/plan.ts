import type { DeclaredResource, Tree } from '../config/types.ts'
import { compareResources, resourceId } from '../store/resources.ts'
import type { Counts, Live, OwnedResource, StoredResource } from '../store/types.ts'
import { fieldChanges } from './fields.ts'
import { assertOwnership, assertReferences, isOwn } from './ownership.ts'
import type { LeftAlone, Plan, ResourceChange } from './types.ts'
import { planWarnings } from './warnings.ts'

/**
 * What an apply of `desired` would do to `live`. Both sides are canonical, so that a default that is written out
 * is no change. What the set owns and the tree lacks is deleted; what others own is left alone.
 *
 * @param adopted what the command line or REST made and the tree takes over, as `kind/name`.
 * @throws {ConflictError} GW4004 where the tree declares what another owner has, GW4010 where something would be
 * left with a reference to nothing.
 */
export function plan(live: Live, desired: Tree, adopted: ReadonlySet<string> = new Set()): Plan {
  assertOwnership(live.resources, desired, adopted)
  const after = afterwards(live.resources, desired)
  assertReferences(after, desired)

  const standing = new Map(live.resources.map(resource => [resourceId(resource), resource]))
  const kept = new Set(desired.resources.map(resourceId))
  const changes = [
    ...desired.resources.flatMap(declared => changeOf(declared, standing.get(resourceId(declared)))),
    ...live.resources.filter(old => isOwn(old, desired.set) && !kept.has(resourceId(old))).map(deletion),
  ].sort(compareResources)
  return {
    base: live.head.revision,
    set: desired.set,
    changes,
    counts: countChanges(changes, desired),
    warnings: planWarnings(live, after, desired),
    leftAlone: leftAlone(
      live.resources.filter(resource => !kept.has(resourceId(resource))),
      desired.set,
    ),
  }
}

/** What a plan takes over, as `kind/name`. */
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

function changeOf(declared: DeclaredResource, old: StoredResource | undefined): ResourceChange[] {
  const { kind, name, spec, place } = declared
  const fields = fieldChanges(kind, old?.spec ?? {}, spec)
  const adoptedFrom = old?.owner === 'config' ? undefined : old?.owner
  if (old && fields.length === 0 && adoptedFrom === undefined) return []
  const action = old ? 'update' : 'create'
  return [
    {
      action,
      kind,
      name,
      fields,
      ...(adoptedFrom && { adoptedFrom }),
      place: { file: place.file, line: place.line },
    },
  ]
}

function deletion({ kind, name, place }: StoredResource): ResourceChange {
  return { action: 'delete', kind, name, fields: [], ...(place && { place }) }
}

function countChanges(changes: readonly ResourceChange[], desired: Tree): Counts {
  const count = (action: ResourceChange['action']) =>
    changes.filter(change => change.action === action).length
  const [create, update] = [count('create'), count('update')]
  return { create, update, delete: count('delete'), unchanged: desired.resources.length - create - update }
}

function leftAlone(live: readonly StoredResource[], set: string): LeftAlone {
  const count = (which: (resource: StoredResource) => boolean) => live.filter(which).length
  return {
    otherSets: count(({ owner, set: other }) => owner === 'config' && other !== set),
    cli: count(({ owner }) => owner === 'cli'),
    rest: count(({ owner }) => owner === 'rest'),
  }
}
