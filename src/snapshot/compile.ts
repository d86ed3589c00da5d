import { credential } from '../schema/endpoint.ts'
import { credentialOf, type SecretSource } from '../schema/kept-secret.ts'
import { decode, type Kind, type Spec } from '../schema/kinds.ts'
import { secretReference } from '../schema/scalars.ts'
import { settings as settingsSchema } from '../schema/settings.ts'
import type { ServedResource, ServedState } from '../schema/state.ts'
import { endpointEntry, type Item, keyEntries, publicationEntry, tenantEntry } from './entries.ts'
import type { Snapshot, Target } from './types.ts'

/** So many are looked through in a fraction of a millisecond. */
const STEP_RESOURCES = 100

/** Looks up a secret that was resolved before, or why it could not be: compiling itself reads nothing. */
export type SecretLookup = (source: SecretSource) => string | Error

export type Compiled =
  | { readonly ok: true; readonly snapshot: Snapshot }
  | { readonly ok: false; readonly problems: readonly string[] }

/**
 * Compiles a revision into the form in which requests use it. Pure: the same state and secrets give the same
 * snapshot. A state that cannot be served gives every reason at once, and no snapshot.
 */
export function compile(state: ServedState, secretOf: SecretLookup): Compiled {
  const work = compiling(state, secretOf)
  for (;;) {
    const step = work.next()
    if (step.done) return step.value
  }
}

/**
 * The same in steps, each of a resource or two: ten thousand keys at once would hold up everybody for a tenth of a
 * second.
 */
export function* compiling(state: ServedState, secretOf: SecretLookup): Generator<undefined, Compiled> {
  const problems: string[] = []
  const resolve = (owner: string, source: SecretSource): string => {
    const secret = secretOf(source)
    if (typeof secret === 'string') return secret
    problems.push(`${owner}: ${secret.message}`)
    return ''
  }
  const ports = { problems, resolve }
  const resources = yield* byKind(state)

  const [declared] = yield* decoded(resources, 'settings', problems)
  const settings = declared?.spec ?? settingsSchema.parse({})
  const endpoints = yield* byName(yield* decoded(resources, 'endpoint', problems), item =>
    endpointEntry(item, ports),
  )
  const tenants = yield* byName(yield* decoded(resources, 'tenant', problems), tenantEntry)

  const targets = new Map<string, Target[]>()
  for (const { spec } of yield* decoded(resources, 'binding', problems)) {
    const endpoint = endpoints.get(spec.endpoint)
    if (!endpoint) {
      problems.push(`binding of ${spec.publication}: there is no endpoint ${spec.endpoint}`)
      continue
    }
    const servedModel = spec.served_model ?? endpoint.servedModel
    const target: Target = Object.freeze({
      endpoint,
      servedModel,
      servedJson: Buffer.from(JSON.stringify(servedModel)),
      weight: spec.weight,
      priority: spec.priority,
    })
    const bound = targets.get(spec.publication)
    if (bound) bound.push(target)
    else targets.set(spec.publication, [target])
  }
  const publications = yield* byName(yield* decoded(resources, 'publication', problems), item =>
    publicationEntry(item, targets.get(item.name) ?? []),
  )
  const keys = yield* keyEntries(state, yield* decoded(resources, 'key', problems), tenants, ports)

  if (problems.length > 0) return { ok: false, problems }
  const snapshot: Snapshot = Object.freeze({
    revision: state.revision,
    keyVersion: state.keyVersion,
    maintenance: maintenanceOf(state, settings.maintenance),
    declaredMaintenance: Object.freeze(settings.maintenance),
    bodyLimitBytes: settings.limits.body,
    currency: settings.currency,
    onDisconnect: settings.on_disconnect,
    logEmbeddings: settings.log.embeddings,
    logRetentionMs: settings.log.retention,
    health: Object.freeze({
      unhealthyAfter: settings.health.unhealthy_after,
      probeMinMs: settings.health.probe_min,
      probeMaxMs: settings.health.probe_max,
    }),
    keys,
    publications,
    endpoints,
    tenants,
  })
  return { ok: true, snapshot }
}

/**
 * The same snapshot with the maintenance switch of `state`, whatever else has moved: it must work also while a state
 * cannot be compiled.
 */
export function withSwitchOf(state: ServedState, snapshot: Snapshot): Snapshot {
  const maintenance = maintenanceOf(state, snapshot.declaredMaintenance)
  return maintenance === snapshot.maintenance ? snapshot : Object.freeze({ ...snapshot, maintenance })
}

/** What was switched on by hand comes before what the settings say. */
function maintenanceOf(
  { maintenance }: ServedState,
  { enabled, message }: Spec<'settings'>['maintenance'],
): string | undefined {
  return maintenance || enabled ? (maintenance?.message ?? message) : undefined
}

/**
 * Where every secret of a state is found, so that they can be looked up before compiling, in steps as {@link compiling}.
 * What cannot be read is passed over here: `compile` reads it again and says so.
 */
export function* secretSources(state: ServedState): Generator<undefined, SecretSource[]> {
  const sources: SecretSource[] = []
  for (const [index, resource] of state.resources.entries()) {
    if (index % STEP_RESOURCES === 0) yield
    const source = secretSource(resource)
    if (source) sources.push(source)
  }
  return sources
}

function secretSource({ kind, name, spec }: ServedState['resources'][number]): SecretSource | undefined {
  // Most keys have none, and to hear that of zod a hundred thousand times would stop everything for a while.
  if (kind === 'key')
    return spec['secret'] === undefined ? undefined : secretReference.safeParse(spec['secret']).data
  const { base_url: url, upstream_key: reference } = spec
  if (kind !== 'endpoint' || typeof url !== 'string' || !URL.canParse(url)) return undefined
  const { data } = credential.safeParse(reference)
  return data && credentialOf(name, { base_url: url, upstream_key: data })
}

/** `env:NAME`, `file:/path` or `stored:` and its use: the one name of a source, to look it up by. */
export function describe(source: SecretSource): string {
  if ('kept' in source) return `stored:${source.kept}`
  return source.env === undefined ? `file:${source.file}` : `env:${source.env}`
}

type ByKind = ReadonlyMap<Kind, readonly ServedResource[]>

/** Sorted once: to look for the few of each kind among a hundred thousand keys takes longer than a step may. */
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

/** Decodes every resource of a kind; one that this version cannot read is a problem, not a crash. */
function* decoded<K extends Kind>(
  resources: ByKind,
  kind: K,
  problems: string[],
): Generator<undefined, Item<K>[]> {
  const items: Item<K>[] = []
  for (const resource of resources.get(kind) ?? []) {
    yield
    try {
      items.push({
        name: resource.name,
        spec: decode(kind, resource.spec),
        createdAtMs: resource.createdAtMs,
        account: resource.account ?? resource.name,
      })
    } catch (error) {
      problems.push(`${kind} ${resource.name} cannot be read: ${String(error)}`)
    }
  }
  return items
}

/** Each is a step: those of a publication with a dozen prices take some tenths of a millisecond. */
function* byName<K extends Kind, Entry>(
  items: readonly Item<K>[],
  make: (item: Item<K>) => Entry,
): Generator<undefined, ReadonlyMap<string, Entry>> {
  const entries = new Map<string, Entry>()
  for (const item of items) {
    yield
    entries.set(item.name, make(item))
  }
  return entries
}
