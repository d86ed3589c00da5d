import { iso } from '../base/iso.ts'
import { secretHeaders } from '../schema/endpoint.ts'
import { type CanonicalSpec, decode, isFields, type Json, type Resource } from '../schema/kinds.ts'
import { destinationOf, type StoredCredential, storedFor } from '../schema/stored-credential.ts'
import type { StoredResource } from '../store/types.ts'
import { PROBED_FIELDS, skipReason } from './changes/probe-orders.ts'
import { ManagedError, ProbeError } from './changes/rejections.ts'
import type { ProbeOrder } from './changes/types.ts'
import type { Context } from './context.ts'
import { invalid } from './invalid.ts'
import { nodeCounter } from './nodes.ts'
import type { Page } from './paging.ts'
import { failedProbes, type ProbeRow } from './probe-round.ts'
import { create, find, list, type ResourceFilters, shown, update } from './resources.ts'

export interface EndpointHealthShown {
  readonly state: 'unknown' | 'healthy' | 'unhealthy'
  /** RFC 3339. */
  readonly since: string
  /** Why it is unhealthy. */
  readonly reason?: string
}

/** The context of the operations on endpoints. */
export interface EndpointContext extends Context {
  /**
   * Sends a minimal request to each model of an endpoint. Rejects only if the store fails.
   * @param options `credential`: the credential set in this request, if the endpoint uses a stored one.
   */
  readonly probe: (
    order: ProbeOrder,
    options: {
      readonly credential?: string | undefined
      readonly findsPaths?: boolean | undefined
      readonly listsModels?: boolean | undefined
    },
  ) => Promise<readonly ProbeRow[]>
  /** Seals a secret for one use. @throws {CommandError} master_key_unusable */
  readonly sealCredential: (secret: string, boundTo: string) => Promise<StoredCredential>
  /** Endpoint health by name; empty if this process sends no traffic. */
  readonly endpointHealth: () => Promise<ReadonlyMap<string, EndpointHealthShown>>
}

/** The document of an endpoint. */
export type EndpointShown = ReturnType<typeof shown> & {
  readonly upstream_key?: unknown
  readonly matched_nodes?: { readonly joined: number; readonly connected: number }
  readonly health?: EndpointHealthShown
}

/** The fields of an endpoint as they were sent: those of a file, but with the credential itself. */
export type SentEndpoint = { readonly [field: string]: Json }

/** Endpoints by name. */
export async function listEndpoints(
  context: EndpointContext,
  query: ResourceFilters,
): Promise<Page<EndpointShown>> {
  return list(context, 'endpoint', query, await presenter(context))
}

/** @throws {CommandError} not_found */
export async function showEndpoint(
  context: EndpointContext,
  { name }: { readonly name: string },
): Promise<EndpointShown> {
  const { resource } = await find(context, 'endpoint', name)
  return (await presenter(context))(resource)
}

/**
 * Creates an endpoint, after a probe that succeeds.
 *
 * @param canonical the canonical form of the fields.
 * @throws {ProbeError} probe_failed, and what {@link create} throws.
 */
export async function createEndpoint(
  context: EndpointContext,
  { name, sent }: { readonly name: string; readonly sent: SentEndpoint },
  canonical: (fields: SentEndpoint) => CanonicalSpec,
): Promise<EndpointShown> {
  const { fields, kept, credential } = await sealFields(context, name, sent, canonical)
  const made = { kind: 'endpoint', name, spec: canonical(fields) } as const
  await probeFirst(context, made, credential)
  const endpoint = await create(context, 'create_endpoint', made, { kept })
  return (await presenter(context))(endpoint)
}

/**
 * Changes an endpoint, after a probe if the change affects requests to the upstream.
 *
 * @param edit applies the sent fields to the policy.
 * @throws {ProbeError} probe_failed; {ApiError} invalid_request; and what {@link update} throws.
 */
export async function updateEndpoint(
  context: EndpointContext,
  action: 'update_endpoint' | 'enable_endpoint' | 'disable_endpoint',
  { name, version, sent }: { readonly name: string; readonly version?: number; readonly sent: SentEndpoint },
  edit: (fields: SentEndpoint) => (spec: CanonicalSpec) => CanonicalSpec,
): Promise<EndpointShown> {
  const { resource } = await find(context, 'endpoint', name)
  // Checked before the probe, which would be useless.
  if (resource.owner === 'config') throw new ManagedError(resource)
  assertPlainHeaders(sent['headers'])
  const edited = (fields: SentEndpoint) => edit(fields)(resource.spec)
  const { fields, kept, credential } = await sealFields(context, name, sent, edited)
  const spec = edited(fields)
  if (!Object.hasOwn(sent, 'upstream_key')) assertSameOrigin(resource.spec, spec)
  const needsProbe = PROBED_FIELDS.some(
    field => JSON.stringify(spec[field]) !== JSON.stringify(resource.spec[field]),
  )
  if (needsProbe) await probeFirst(context, { kind: 'endpoint', name, spec }, credential)
  const target = { kind: 'endpoint', name, ...(version !== undefined && { version }) } as const
  const endpoint = await update(context, action, target, edit(fields), kept)
  return (await presenter(context))(endpoint)
}

/** Prepares a function that shows any number of endpoints. */
async function presenter({
  endpointHealth,
  store,
}: EndpointContext): Promise<(resource: StoredResource) => EndpointShown> {
  const health = await endpointHealth()
  const countNodes = await nodeCounter(store)
  const kept = new Map((await store.kept()).map(({ boundTo, createdAtMs }) => [boundTo, createdAtMs]))
  return resource => {
    const state = health.get(resource.name)
    const nodes = countNodes(decode('endpoint', resource.spec))
    return {
      ...shown(resource),
      ...credentialShown(resource, kept),
      ...(nodes && { matched_nodes: nodes }),
      ...(state && { health: state }),
    }
  }
}

/**
 * Replaces the plaintext credential in the fields by one that is sealed for this endpoint and its new address.
 *
 * @param specOf the endpoint with some fields.
 */
async function sealFields(
  { sealCredential }: EndpointContext,
  name: string,
  sent: SentEndpoint,
  specOf: (fields: SentEndpoint) => CanonicalSpec,
): Promise<{
  readonly fields: SentEndpoint
  readonly kept: readonly StoredCredential[]
  readonly credential?: string
}> {
  const { upstream_key: credential, ...others } = sent
  if (typeof credential !== 'string') return { fields: sent, kept: [] }
  const secret = await sealCredential(credential, storedFor(name, decode('endpoint', specOf(others))))
  return { fields: { ...others, upstream_key: { stored: secret.id } }, kept: [secret], credential }
}

/** @throws {ProbeError} probe_failed */
async function probeFirst(context: EndpointContext, endpoint: Resource, credential?: string): Promise<void> {
  if (skipReason(endpoint) !== undefined) return
  const { served_model: model } = decode('endpoint', endpoint.spec)
  const failed = failedProbes(await context.probe({ endpoint, models: [model] }, { credential }))
  if (failed.length > 0) throw new ProbeError(failed)
}

/**
 * Rejects headers that look like secrets. Checks the members of a patch one by one. @throws {ApiError} invalid_request
 */
function assertPlainHeaders(headers: Json | undefined): void {
  if (!isFields(headers)) return
  const [first] = secretHeaders(headers)
  if (first === undefined) return
  const detail =
    'this looks like a secret: send it as upstream_key, or as a reference in a configuration file'
  throw invalid([{ pointer: `/headers/${first}`, detail }])
}

/** Shows that a credential is stored, and since when; never the credential itself. */
function credentialShown({ name, spec }: StoredResource, kept: ReadonlyMap<string, number>) {
  const decoded = decode('endpoint', spec)
  const { upstream_key: reference } = decoded
  if (!reference || !('stored' in reference)) return {}
  const sinceMs = kept.get(storedFor(name, decoded))
  return { upstream_key: { stored: true, ...(sinceMs !== undefined && { since: iso(sinceMs) }) } }
}

/**
 * A stored credential is sent only to the origin or the nodes it was set for: another destination must not be a way to read it there.
 *
 * @throws {ApiError} invalid_request
 */
function assertSameOrigin(before: CanonicalSpec, after: CanonicalSpec): void {
  const [from, to] = [decode('endpoint', before), decode('endpoint', after)]
  if (!to.upstream_key || destinationOf(from) === destinationOf(to)) return
  const detail =
    'must be sent again with a new origin in base_url, other nodes or a new proxy, or be null for none'
  throw invalid([{ pointer: '/upstream_key', detail }])
}
