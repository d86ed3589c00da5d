import { CommandError } from '../../base/catalogue/command.ts'
import type { Tree } from '../../config/types.ts'
import { decode, KIND_NAMES, type Kind, type Resource } from '../../schema/kinds.ts'
import { resourceId } from '../../store/resources.ts'
import type { Live, OwnedResource } from '../../store/types.ts'
import { belonging, ConflictError, capital, ownerName, subject } from './rejections.ts'
import type { Conflict } from './types.ts'

const NONE: ReadonlySet<string> = new Set()

/** Whether the files of this set own the resource. Resources of the CLI or REST are in no set. */
export function isOwn(resource: OwnedResource, set: string): boolean {
  return resource.set === set
}

/**
 * Checks that a tree changes only resources of its own set. It takes over others only by adoption.
 *
 * @param adopted as `kind/name`.
 * @throws {ConflictError} owned_by_other, with all conflicts at once.
 */
export function assertOwnership(
  live: readonly OwnedResource[],
  desired: Tree,
  adopted: ReadonlySet<string> = NONE,
): void {
  const existing = new Map(live.map(resource => [resourceId(resource), resource]))
  const conflicts = desired.resources.flatMap((declared): Conflict[] => {
    const old = existing.get(resourceId(declared))
    if (!old || isOwn(old, desired.set)) return []
    if (adopted.has(resourceId(declared))) return []
    const { kind, name, place } = declared
    return [
      {
        kind,
        name,
        message: `${at(place)}: ${belonging(declared, old)}.`,
        place: { file: place.file, line: place.line },
        ...(old.place && { other: old.place }),
      },
    ]
  })
  if (conflicts.length > 0) throw new ConflictError('owned_by_other', conflicts)
}

/**
 * Checks that every reference has its target after an apply, across all owners: a set may not delete an endpoint that
 * another set has bound.
 *
 * @throws {ConflictError} still_referenced, with all conflicts at once.
 */
export function assertReferences(after: readonly OwnedResource[], desired: Pick<Tree, 'resources'>): void {
  const existing = new Set(after.map(resourceId))
  const places = new Map(desired.resources.map(declared => [resourceId(declared), declared.place]))
  const conflicts = after.flatMap(resource =>
    references(resource)
      .filter(target => !existing.has(resourceId(target)))
      .map((target): Conflict => {
        const place = places.get(resourceId(resource))
        if (place) {
          const message = `${at(place)}: ${subject(resource)} refers to ${subject(target)}, which does not exist.`
          return {
            kind: resource.kind,
            name: resource.name,
            message,
            place: { file: place.file, line: place.line },
          }
        }
        const message = `${subject(target)} cannot be deleted: ${subject(resource)}, which belongs to ${ownerName(resource)}, refers to it.`
        return { ...target, message: capital(message), ...(resource.place && { other: resource.place }) }
      }),
  )
  if (conflicts.length > 0) throw new ConflictError('still_referenced', conflicts)
}

/**
 * The resources (`kind/name`) that a tree takes over from the command line, REST or another set. Resources that the tree already
 * owns are accepted, so the same command line works on every run in CI.
 * @throws {CommandError} usage if an argument is not `KIND/NAME` or the files do not declare it, not_found if the
 * resource does not exist.
 */
export function adoptions(wanted: readonly string[], tree: Tree, live: Live): ReadonlySet<string> {
  const declared = new Set(tree.resources.map(resourceId))
  const existing = new Set(live.resources.map(resourceId))
  for (const id of wanted) {
    const kind = id.slice(0, Math.max(0, id.indexOf('/')))
    if (!KIND_NAMES.some(known => known === kind)) {
      throw new CommandError('usage', `\`--adopt ${id}\` is not a resource.`, {
        hint: `Write KIND/NAME, such as key/app; kinds are ${KIND_NAMES.join(', ')}.`,
      })
    }
    if (!declared.has(id)) {
      throw new CommandError('usage', `The files do not declare ${id}, so they cannot adopt it.`, {
        hint: 'Declare it in the files; `gw export` and `gw keys show` print its current state.',
      })
    }
    if (!existing.has(id)) {
      throw new CommandError('not_found', `There is no ${id.replace('/', ' ')} to adopt.`, {
        hint: 'Leave --adopt out: an apply creates it.',
      })
    }
  }
  return new Set(wanted)
}

/** The references of a resource. Each field has the name of the kind it refers to. */
export function references(resource: Resource): { kind: Kind; name: string }[] {
  if (resource.kind === 'binding') {
    const { publication, endpoint } = decode('binding', resource.spec)
    return [
      { kind: 'publication', name: publication },
      { kind: 'endpoint', name: endpoint },
    ]
  }
  const tenant = resource.kind === 'key' ? resource.spec['tenant'] : undefined
  return typeof tenant === 'string' ? [{ kind: 'tenant', name: tenant }] : []
}

function at(place: { readonly file: string; readonly line: number }): string {
  return `${place.file}:${place.line}`
}
