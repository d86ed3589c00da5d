import type { EnvironmentProxies } from '../base/proxies.ts'
import type { Spec } from '../schema/kinds.ts'
import type { ServedState } from '../schema/state.ts'
import type { SecretSource } from '../schema/stored-credential.ts'
import { type Decoded, decoding } from './decoding.ts'
import { endpointEntry, nodeEntry, publicationEntry } from './entries.ts'
import { keyEntries } from './keys.ts'
import type { Snapshot, Target } from './types.ts'

/** Looks up a resolved secret, or the error of its resolution: compiling itself reads nothing. */
export type SecretLookup = (source: SecretSource) => string | Error

export type Compiled =
  | { readonly ok: true; readonly snapshot: Snapshot }
  | { readonly ok: false; readonly problems: readonly string[] }

/**
 * Compiles a revision into a snapshot. Pure: the same state and secrets give the same snapshot. An invalid state gives
 * all problems at once, and no snapshot.
 */
export function compile(state: ServedState, secretOf: SecretLookup): Compiled {
  const work = compiling(state, secretOf)
  for (;;) {
    const step = work.next()
    if (step.done) return step.value
  }
}

/**
 * Like {@link compile}, in steps of one or two resources: ten thousand keys at once would block the event loop for 100 ms.
 */
export function* compiling(state: ServedState, secretOf: SecretLookup): Generator<undefined, Compiled> {
  return yield* linking(yield* decoding(state), secretOf)
}

/**
 * The second half of compiling: links the decoded resources and their secrets.
 *
 * @param environmentProxies Absent if the snapshot will not be served.
 */
export function* linking(
  decoded: Decoded,
  secretOf: SecretLookup,
  environmentProxies?: EnvironmentProxies,
): Generator<undefined, Compiled> {
  const { state, settings } = decoded
  const problems = [...decoded.problems]
  const resolve = (owner: string, source: SecretSource): string => {
    const secret = secretOf(source)
    if (typeof secret === 'string') return secret
    problems.push(`${owner}: ${secret.message}`)
    return ''
  }
  const ports = { problems, resolve, environmentProxies }
  const endpoints = yield* byName(decoded.endpoints, item => endpointEntry(item, ports))
  const tenants = yield* byName(
    decoded.tenants.map(({ entry }) => entry),
    entry => entry,
  )

  const nodes = yield* byName(decoded.nodes, nodeEntry)

  const targets = new Map<string, Target[]>()
  for (const { spec } of decoded.bindings) {
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
  const publications = yield* byName(decoded.publications, item =>
    publicationEntry(item, targets.get(item.name) ?? [], settings),
  )
  const keys = yield* keyEntries(state, decoded.keys, tenants, ports)

  if (problems.length > 0) return { ok: false, problems }
  const snapshot: Snapshot = Object.freeze({
    revision: state.revision,
    keyVersion: state.keyVersion,
    maintenance: maintenanceOf(state, settings.maintenance),
    declaredMaintenance: Object.freeze(settings.maintenance),
    bodyLimitBytes: settings.limits.body,
    showEndpoints: settings.show_endpoints,
    corsOrigins: settings.cors.origins.length > 0 ? new Set(settings.cors.origins) : undefined,
    currency: settings.currency,
    logEmbeddings: settings.log.embeddings,
    logRetentionMs: settings.log.retention,
    responseRetentionMs: settings.responses.retention,
    durability: settings.ledger.durability,
    revisions: Object.freeze({ retentionMs: settings.revisions.retention, keep: settings.revisions.keep }),
    health: Object.freeze({
      unhealthyAfter: settings.health.unhealthy_after,
      probeMinMs: settings.health.probe_min,
      probeMaxMs: settings.health.probe_max,
    }),
    keys,
    publications,
    endpoints,
    tenants,
    nodes,
    nodeAdmission: settings.nodes.admission,
  })
  return { ok: true, snapshot }
}

/**
 * The same snapshot with the maintenance switch of `state`, ignoring all other changes: the switch must work even if the
 * state cannot be compiled.
 */
export function withSwitchOf(state: ServedState, snapshot: Snapshot): Snapshot {
  const maintenance = maintenanceOf(state, snapshot.declaredMaintenance)
  return maintenance === snapshot.maintenance ? snapshot : Object.freeze({ ...snapshot, maintenance })
}

/** Manual maintenance takes precedence over the settings. */
function maintenanceOf(
  { maintenance }: ServedState,
  { enabled, message }: Spec<'settings'>['maintenance'],
): string | undefined {
  return maintenance || enabled ? (maintenance?.message ?? message) : undefined
}

/** The look-up key of a source: `env:NAME`, `file:/path`, or `stored:` and its use. */
export function describe(source: SecretSource): string {
  if ('kept' in source) return `stored:${source.kept}`
  return source.env === undefined ? `file:${source.file}` : `env:${source.env}`
}

/** One step for each item: a publication with a dozen prices takes some tenths of a millisecond. */
function* byName<Named extends { readonly name: string }, Entry>(
  items: readonly Named[],
  make: (item: Named) => Entry,
): Generator<undefined, ReadonlyMap<string, Entry>> {
  const entries = new Map<string, Entry>()
  for (const item of items) {
    yield
    entries.set(item.name, make(item))
  }
  return entries
}
