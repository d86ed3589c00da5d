import { CommandError } from '../base/catalogue/command.ts'
import { iso } from '../base/iso.ts'
import type { OperationId } from '../schema/api/operations.ts'
import type { CanonicalSpec, Kind, Resource } from '../schema/kinds.ts'
import type { StoredCredential } from '../schema/stored-credential.ts'
import type { Live, Owner, StoredResource } from '../store/types.ts'
import { record } from './audit.ts'
import {
  type Author,
  changeManually,
  createManually,
  deleteManually,
  type Target,
} from './changes/manual-changes.ts'
import type { Context } from './context.ts'
import { type Page, type PageQuery, pageOf } from './paging.ts'

/** The operations common to all kinds of resources that no file declares: read, create, change, delete. */

/** Finds a resource by name. @throws {CommandError} not_found */
export async function find(
  { store }: Pick<Context, 'store'>,
  kind: Kind,
  name: string,
): Promise<{ readonly resource: StoredResource; readonly live: Live }> {
  const live = await store.find({ kind, name })
  const [resource] = live.resources
  if (!resource) throw new CommandError('not_found', `There is no ${kind} ${name.replace(' ', ' / ')}.`)
  return { resource, live }
}

/** Which resources of a kind to list; filters are combined with AND. */
export interface ResourceFilters extends PageQuery {
  readonly q?: string | undefined
  readonly owner?: Owner | undefined
  readonly set?: string | undefined
}

/** The filters of a list for the store. */
export function filtersOf({ q, owner, set }: ResourceFilters) {
  return {
    ...(q !== undefined && { contains: q }),
    ...(owner !== undefined && { owner }),
    ...(set !== undefined && { set }),
  }
}

/** One page of a kind, by name. */
export function list<Shown>(
  { store }: Pick<Context, 'store'>,
  kind: Kind,
  query: ResourceFilters,
  show: (resource: StoredResource) => Shown,
  filter: { readonly name?: string; readonly where?: Readonly<Record<string, string>> } = {},
): Promise<Page<Shown>> {
  return pageOf(
    query,
    async (limit, after) => {
      return (
        await store.find({
          kind,
          limit,
          ...filtersOf(query),
          ...filter,
          ...(after !== undefined && { after }),
        })
      ).resources
    },
    resource => resource.name,
    show,
  )
}

/**
 * @param kept stored credentials that the fields refer to.
 * @param assertAllowed rejects by throwing.
 * @throws what {@link createManually} throws.
 */
export async function create(
  context: Context,
  action: OperationId,
  made: Resource,
  { kept = [], assertAllowed }: Pick<Author, 'kept' | 'assertAllowed'> = {},
): Promise<StoredResource> {
  const author = { ...authorOf(context), kept, assertAllowed }
  const { id: revision } = await createManually(context.store, made, author)
  await record(context, { action, target: `${made.kind}/${made.name}`, revision })
  return (await find(context, made.kind, made.name)).resource
}

/** @throws what {@link changeManually} throws. */
export async function update(
  context: Context,
  action: OperationId,
  target: Target,
  edit: (current: CanonicalSpec) => CanonicalSpec,
  kept: readonly StoredCredential[] = [],
): Promise<StoredResource> {
  const author = { ...authorOf(context), kept }
  const changed = await changeManually(context.store, target, ({ spec }) => edit(spec), author)
  const { kind, name } = target
  if (changed) await record(context, { action, target: `${kind}/${name}`, revision: changed.id })
  return (await find(context, kind, name)).resource
}

/**
 * Returns the revision of the delete.
 *
 * @param assertAllowed rejects by throwing.
 * @throws what {@link deleteManually} throws.
 */
export async function remove(
  context: Context,
  action: OperationId,
  target: Target,
  { assertAllowed }: Pick<Author, 'assertAllowed'> = {},
): Promise<{ readonly revision: number }> {
  const { id: revision } = await deleteManually(context.store, target, {
    ...authorOf(context),
    assertAllowed,
  })
  await record(context, { action, target: `${target.kind}/${target.name}`, revision })
  return { revision }
}

/** A resource in the format of a configuration file, with its owner and origin. */
export function shown({ name, spec, ...resource }: StoredResource) {
  const { owner, set, place, createdAtMs, createdRevision, updatedRevision } = resource
  return {
    name,
    ...spec,
    owner,
    ...(set !== undefined && { set }),
    ...(place && { file: place.file, line: place.line }),
    created_at: iso(createdAtMs),
    created_revision: createdRevision,
    updated_revision: updatedRevision,
  }
}

/** The author of the revisions of an operation. */
function authorOf({ actor, check }: Context): Author {
  return { origin: actor.origin, ...(actor.name !== undefined && { author: actor.name }), check }
}
