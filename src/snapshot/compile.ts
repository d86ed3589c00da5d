import { decode, type Kind } from '../schema/kinds.ts'
import type { SecretReference } from '../schema/scalars.ts'
import { settings as settingsSchema } from '../schema/settings.ts'
import type { ServedState } from '../schema/state.ts'
import { endpointEntry, type Item, keyEntries, publicationEntry, tenantEntry } from './entries.ts'
import type { Snapshot, Target } from './types.ts'

/** Looks up a secret that was resolved before, or why it could not be: compiling itself reads nothing. */
export type SecretLookup = (reference: SecretReference) => string | Error

export type Compiled =
  | { readonly ok: true; readonly snapshot: Snapshot }
  | { readonly ok: false; readonly problems: readonly string[] }

/**
 * Compiles a revision into the form in which requests use it. Pure: the same state and secrets give the same
 * snapshot. A state that cannot be served gives every reason at once, and no snapshot.
 */
export function compile(state: ServedState, secretOf: SecretLookup): Compiled {
  const problems: string[] = []
  const resolve = (owner: string, reference: SecretReference): string => {
    const secret = secretOf(reference)
    if (typeof secret === 'string') return secret
    problems.push(`${owner}: ${secret.message}`)
    return ''
  }
  const ports = { problems, resolve }

  const settings = decoded(state, 'settings', problems)[0]?.spec ?? settingsSchema.parse({})
  const endpoints = byName(decoded(state, 'endpoint', problems), item => endpointEntry(item, ports))
  const tenants = byName(decoded(state, 'tenant', problems), tenantEntry)

  const targets = new Map<string, Target[]>()
  for (const { spec } of decoded(state, 'binding', problems)) {
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
  const publications = byName(decoded(state, 'publication', problems), item =>
    publicationEntry(item, targets.get(item.name) ?? []),
  )
  const keys = keyEntries(state, decoded(state, 'key', problems), tenants, ports)

  if (problems.length > 0) return { ok: false, problems }
  const snapshot: Snapshot = Object.freeze({
    revision: state.revision,
    keyVersion: state.keyVersion,
    maintenance: settings.maintenance.enabled ? settings.maintenance.message : undefined,
    bodyLimitBytes: settings.limits.body,
    currency: settings.currency,
    onDisconnect: settings.on_disconnect,
    logEmbeddings: settings.log.embeddings,
    logRetentionMs: settings.log.retention,
    keys,
    publications,
    endpoints,
    tenants,
  })
  return { ok: true, snapshot }
}

/** Every reference to a secret in a state, so that they can be resolved before compiling. */
export function secretReferences(state: ServedState): SecretReference[] {
  // What cannot be read is passed over here: `compile` reads it again and says so.
  const unreadable: string[] = []
  return [
    ...decoded(state, 'endpoint', unreadable).flatMap(({ spec }) => spec.upstream_key ?? []),
    ...decoded(state, 'key', unreadable).flatMap(({ spec }) => spec.secret ?? []),
  ]
}

/** `env:NAME` or `file:/path`: the one name of a reference, to look it up by. */
export function describe(reference: SecretReference): string {
  return reference.env === undefined ? `file:${reference.file}` : `env:${reference.env}`
}

/** Decodes every resource of a kind; one that this version cannot read is a problem, not a crash. */
function decoded<K extends Kind>(state: ServedState, kind: K, problems: string[]): Item<K>[] {
  const items: Item<K>[] = []
  for (const resource of state.resources) {
    if (resource.kind !== kind) continue
    try {
      items.push({
        name: resource.name,
        spec: decode(kind, resource.spec),
        createdAtMs: resource.createdAtMs,
      })
    } catch (error) {
      problems.push(`${kind} ${resource.name} cannot be read: ${String(error)}`)
    }
  }
  return items
}

function byName<K extends Kind, Entry>(
  items: Item<K>[],
  make: (item: Item<K>) => Entry,
): ReadonlyMap<string, Entry> {
  return new Map(items.map(item => [item.name, make(item)]))
}
