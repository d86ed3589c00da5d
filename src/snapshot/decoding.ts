import { SortedMergeCursor } from '../base/sorted-merge-cursor.ts'
import { decode, type Kind, type Spec } from '../schema/kinds.ts'
import { settings as settingsSchema } from '../schema/settings.ts'
import type { ServedResource, ServedState } from '../schema/state.ts'
import { type SecretSource, secretsOf } from '../schema/stored-credential.ts'
import { type Item, tenantEntry } from './entries.ts'
import { KnownKey } from './keys.ts'
import type { TenantEntry } from './types.ts'

/** Resources in one step, which takes a fraction of a millisecond. */
const STEP_RESOURCES = 100

/** A state with all resources decoded: the first half of compiling, and the base of the next one. */
export interface Decoded {
  readonly state: ServedState
  readonly settings: Spec<'settings'>
  readonly endpoints: readonly Item<'endpoint'>[]
  readonly nodes: readonly Item<'node'>[]
  readonly tenants: readonly KnownTenant[]
  readonly bindings: readonly Item<'binding'>[]
  readonly publications: readonly Item<'publication'>[]
  readonly keys: readonly KnownKey[]
  /** The sources of all secrets, to resolve them before compiling. */
  readonly sources: readonly SecretSource[]
  /** Resources that this version cannot read. */
  readonly problems: readonly string[]
}

/** A tenant and its resource. */
export interface KnownTenant {
  readonly resource: ServedResource
  readonly entry: TenantEntry
}

/**
 * Decodes all resources of a state, in steps of one or two resources.
 *
 * @param before The result for an earlier state. Keys and tenants whose resource is the same object are reused: a hundred
 *   thousand take a second to decode, and usually only one has changed.
 */
export function* decoding(state: ServedState, before?: Decoded): Generator<undefined, Decoded> {
  const problems: string[] = []
  const sources: SecretSource[] = []
  const resources = yield* byKind(state)

  const [declared] = yield* items(resources, 'settings', problems)
  const endpoints = yield* items(resources, 'endpoint', problems)
  for (const { name, spec } of endpoints) {
    for (const { source } of secretsOf(name, spec)) sources.push(source)
  }
  const nodes = yield* items(resources, 'node', problems)
  const tenants = yield* known(resources, 'tenant', problems, before?.tenants, (item, resource) => {
    return { resource, entry: tenantEntry(item) }
  })
  const bindings = yield* items(resources, 'binding', problems)
  const publications = yield* items(resources, 'publication', problems)
  const keys = yield* known(
    resources,
    'key',
    problems,
    before?.keys,
    (item, resource) => new KnownKey(item, resource),
  )
  for (const { secret } of keys) if (secret) sources.push(secret)
  return {
    state,
    settings: declared?.spec ?? settingsSchema.parse({}),
    endpoints,
    nodes,
    tenants,
    bindings,
    publications,
    keys,
    sources,
    problems,
  }
}

type ByKind = ReadonlyMap<Kind, readonly ServedResource[]>

/** Groups the resources once: a search among a hundred thousand keys for each kind would exceed a step. */
function* byKind({ resources }: ServedState): Generator<undefined, ByKind> {
  const sorted = new Map<Kind, ServedResource[]>()
  for (const [index, resource] of resources.entries()) {
    if (index % STEP_RESOURCES === 0) yield
    const others = sorted.get(resource.kind)
    if (others) others.push(resource)
    else sorted.set(resource.kind, [resource])
  }
  return sorted
}

/** Decodes all resources of a kind. */
function* items<K extends Kind>(
  resources: ByKind,
  kind: K,
  problems: string[],
): Generator<undefined, Item<K>[]> {
  const found: Item<K>[] = []
  for (const resource of resources.get(kind) ?? []) {
    yield
    const item = itemOf(kind, resource, problems)
    if (item) found.push(item)
  }
  return found
}

/** Like {@link items}, but reuses the earlier results of unchanged resources. */
function* known<K extends Kind, Made extends { readonly resource: ServedResource }>(
  resources: ByKind,
  kind: K,
  problems: string[],
  before: readonly Made[] | undefined,
  make: (item: Item<K>, resource: ServedResource) => Made,
): Generator<undefined, Made[]> {
  const earlier = new SortedMergeCursor(before ?? [], byResourceName)
  const all: Made[] = []
  for (const resource of resources.get(kind) ?? []) {
    yield
    const same = earlier.find(resource.name)
    if (same?.resource === resource) {
      all.push(same)
      continue
    }
    const item = itemOf(kind, resource, problems)
    if (item) all.push(make(item, resource))
  }
  return all
}

function byResourceName({ resource }: { readonly resource: ServedResource }, name: string): number {
  if (resource.name === name) return 0
  return resource.name < name ? -1 : 1
}

/** Decodes a resource. Adds a problem and returns undefined if this version cannot read it. */
function itemOf<K extends Kind>(kind: K, resource: ServedResource, problems: string[]): Item<K> | undefined {
  const { name, createdAtMs, account = name } = resource
  try {
    return { name, spec: decode(kind, resource.spec), createdAtMs, account }
  } catch (error) {
    problems.push(`${kind} ${name} cannot be read: ${String(error)}`)
    return undefined
  }
}
