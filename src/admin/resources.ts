import { CommandError } from '../base/catalogue/command.ts'
import { iso } from '../base/iso.ts'
import type { Fields } from '../schema/api/reshape.ts'
import { type CanonicalSpec, encode, type Json, KINDS, type Kind, type Spec } from '../schema/kinds.ts'
import type { StoredCredential } from '../schema/stored-credential.ts'
import {
  type Actor,
  changeManually,
  createManually,
  deleteManually,
} from '../services/changes/manual-changes.ts'
import type { Live, Store, StoredResource } from '../store/types.ts'
import type { Caller } from './call.ts'
import { type Page, pageOf } from './paging.ts'
import type { UseCasePorts } from './ports.ts'
import { checked } from './reading.ts'

/** The operations common to all kinds of resources: read, create, change, show. */

type ReadPorts = Pick<UseCasePorts, 'store'>
type ChangePorts = Pick<UseCasePorts, 'store' | 'check'>

/** The part of a call that a change needs. */
interface Change {
  readonly caller: Caller
  readonly store: Store
  readonly version?: number
  readonly markUnchanged: () => void
}

function actorOf(caller: Caller, { check }: Pick<UseCasePorts, 'check'>): Actor {
  return { origin: 'rest', author: caller.name, check }
}

/** The canonical form of a request body. @throws {ApiError} invalid_request */
export function canonicalOf(kind: Kind, fields: Fields): CanonicalSpec {
  return encode(kind, checked(KINDS[kind], fields) as Spec<typeof kind>)
}

/** Applies a JSON merge patch (RFC 7396): null removes a member, an object is merged, any other value replaces. */
export function patched(before: Fields, patch: Fields): Fields {
  const result: Record<string, Json> = { ...before }
  for (const [name, value] of Object.entries(patch)) {
    const old = Object.hasOwn(before, name) ? before[name] : undefined
    if (value === null) delete result[name]
    else result[name] = isFields(value) ? patched(isFields(old) ? old : {}, value) : value
  }
  return result
}

/** Finds a resource by name. @throws {CommandError} not_found */
export async function find(
  { store }: ReadPorts,
  kind: Kind,
  name: string,
): Promise<{ readonly resource: StoredResource; readonly live: Live }> {
  const live = await store.find({ kind, name })
  const [resource] = live.resources
  if (!resource) throw new CommandError('not_found', `There is no ${kind} ${name.replace(' ', ' / ')}.`)
  return { resource, live }
}

/** One page of a kind, by name. */
export function list<Shown>(
  { store }: ReadPorts,
  kind: Kind,
  query: { readonly limit: number; readonly cursor?: string | undefined },
  show: (resource: StoredResource) => Shown,
  filter: { readonly name?: string; readonly where?: Readonly<Record<string, string>> } = {},
): Promise<Page<Shown>> {
  return pageOf(
    query,
    async (limit, after) => {
      return (await store.find({ kind, limit, ...filter, ...(after !== undefined && { after }) })).resources
    },
    resource => resource.name,
    show,
  )
}

/**
 * @param json the body: the fields and, if the kind has one, the name.
 * @param kept stored credentials that the fields refer to.
 * @throws {ApiError} invalid_request, and what {@link createManually} throws.
 */
export async function create(
  ports: ChangePorts,
  kind: Kind,
  name: string,
  { json, caller, store }: Pick<Change, 'caller' | 'store'> & { readonly json: Fields },
  kept: readonly StoredCredential[] = [],
): Promise<StoredResource> {
  const { name: _name, ...fields } = json
  const actor = { ...actorOf(caller, ports), kept }
  await createManually(store, { kind, name, spec: canonicalOf(kind, fields) }, actor)
  return (await find(ports, kind, name)).resource
}

/** @throws {ApiError} invalid_request, and what {@link changeManually} throws. */
export async function update(
  ports: ChangePorts,
  kind: Kind,
  name: string,
  { json, version, caller, store, markUnchanged }: Change & { readonly json: Fields },
  kept: readonly StoredCredential[] = [],
): Promise<StoredResource> {
  const changed = await changeManually(
    store,
    { kind, name, ...(version !== undefined && { version }) },
    ({ spec }) => canonicalOf(kind, patched(spec, json)),
    { ...actorOf(caller, ports), kept },
  )
  if (!changed) markUnchanged()
  return (await find(ports, kind, name)).resource
}

/** Returns the revision of the delete. @throws what {@link deleteManually} throws. */
export async function remove(
  ports: ChangePorts,
  kind: Kind,
  name: string,
  { version, caller, store }: Pick<Change, 'version' | 'caller' | 'store'>,
): Promise<{ readonly body: { readonly revision: number }; readonly revision: number }> {
  const target = { kind, name, ...(version !== undefined && { version }) }
  const { id } = await deleteManually(store, target, actorOf(caller, ports))
  return { body: { revision: id }, revision: id }
}

/** The answer with one resource and its version; {@link changedReply} after a change. */
export function shownReply<Body>(resource: StoredResource, body: Body) {
  return { body, etag: resource.updatedRevision }
}

export function changedReply<Body>(resource: StoredResource, body: Body) {
  const target = `${resource.kind}/${resource.name}`
  return { body, etag: resource.updatedRevision, revision: resource.updatedRevision, target }
}

/** A resource in the format of a configuration file, with its owner and origin. */
export function shown({ name, spec, ...resource }: StoredResource) {
  return { name, ...spec, ...originOf(resource) }
}

function originOf(resource: Omit<StoredResource, 'kind' | 'name' | 'spec'>) {
  const { owner, set, place, createdAtMs, createdRevision, updatedRevision } = resource
  return {
    owner,
    ...(set !== undefined && { set }),
    ...(place && { file: place.file, line: place.line }),
    created_at: iso(createdAtMs),
    created_revision: createdRevision,
    updated_revision: updatedRevision,
  }
}

function isFields(value: Json | undefined): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
