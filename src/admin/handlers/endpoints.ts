import { ApiError } from '../../base/catalogue/api.ts'
import { iso } from '../../base/iso.ts'
import type { Fields } from '../../schema/api/reshape.ts'
import { secretHeaders } from '../../schema/endpoint.ts'
import { type CanonicalSpec, decode, type Json, type Resource } from '../../schema/kinds.ts'
import { destinationOf, type StoredCredential, storedFor } from '../../schema/stored-credential.ts'
import { PROBED_FIELDS, skipReason } from '../../services/changes/probe-orders.ts'
import { ManagedError, ProbeError } from '../../services/changes/rejections.ts'
import type { StoredResource } from '../../store/types.ts'
import type { Call, HandlersOf } from '../call.ts'
import type { UseCasePorts } from '../ports.ts'
import { invalid } from '../reading.ts'
import {
  canonicalOf,
  changedReply,
  create,
  find,
  list,
  patched,
  remove,
  shown,
  shownReply,
  update,
} from '../resources.ts'

type Ids =
  | 'list_endpoints'
  | 'create_endpoint'
  | 'get_endpoint'
  | 'update_endpoint'
  | 'enable_endpoint'
  | 'disable_endpoint'
  | 'delete_endpoint'
  | 'probe_endpoint'

/** The fields of a body, with its plaintext credential replaced by a sealed one. */
interface SealedBody {
  readonly fields: Fields
  readonly kept: readonly StoredCredential[]
  readonly credential?: string
}

export function endpointHandlers(ports: UseCasePorts): HandlersOf<Ids> {
  /** Prepares a function that shows endpoints; it may show any number of them. */
  const endpointPresenter = async () => {
    const health = await ports.endpointHealth()
    const kept = new Map((await ports.store.kept()).map(({ boundTo, createdAtMs }) => [boundTo, createdAtMs]))
    return (resource: StoredResource) => {
      const state = health.get(resource.name)
      return { ...shown(resource), ...credentialShown(resource, kept), ...(state && { health: state }) }
    }
  }

  async function save(
    name: string,
    sent: Fields,
    call: Pick<Call<'enable_endpoint'>, 'caller' | 'store' | 'version' | 'markUnchanged'>,
  ) {
    const { resource } = await find(ports, 'endpoint', name)
    // Checked before the probe, which would be useless.
    if (resource.owner === 'config') throw new ManagedError(resource)
    assertPlainHeaders(sent['headers'])
    const { base_url: before } = decode('endpoint', resource.spec)
    const url = typeof sent['base_url'] === 'string' ? sent['base_url'] : before
    const { fields, kept, credential } = await sealBody(name, url, sent)
    const spec = canonicalOf('endpoint', patched(resource.spec, fields))
    if (!Object.hasOwn(sent, 'upstream_key')) assertSameOrigin(resource.spec, spec)
    const needsProbe = PROBED_FIELDS.some(
      field => JSON.stringify(spec[field]) !== JSON.stringify(resource.spec[field]),
    )
    if (needsProbe) await probeFirst({ kind: 'endpoint', name, spec }, credential)
    const endpoint = await update(ports, 'endpoint', name, { ...call, json: fields }, kept)
    return changedReply(endpoint, (await endpointPresenter())(endpoint))
  }

  /** Seals the credential of a body for this endpoint and the origin of `url`. */
  async function sealBody(name: string, url: string, sent: Fields): Promise<SealedBody> {
    const { upstream_key: credential, ...others } = sent
    if (typeof credential !== 'string') return { fields: sent, kept: [] }
    const secret = await ports.sealCredential(credential, storedFor(name, url))
    return { fields: { ...others, upstream_key: { stored: secret.id } }, kept: [secret], credential }
  }

  /** @throws {ProbeError} probe_failed */
  async function probeFirst(endpoint: Resource, credential?: string): Promise<void> {
    const { spec, name } = endpoint
    if (skipReason(endpoint) !== undefined) return
    const { served_model: model } = decode('endpoint', spec)
    const verdict = await ports.probe({ endpoint, models: [model] }, credential)
    if (!verdict.ok) {
      throw new ProbeError([{ endpoint: name, model, cause: verdict.cause, hint: verdict.hint }])
    }
  }

  const switchTo =
    (enabled: boolean) =>
    ({ params, ...call }: Call<'enable_endpoint'> | Call<'disable_endpoint'>) =>
      save(params.name, { enabled }, call)

  return {
    async list_endpoints({ query }) {
      return { body: await list(ports, 'endpoint', query, await endpointPresenter()) }
    },
    async create_endpoint(call) {
      const { name, base_url: url } = call.body
      const { name: _name, ...sent } = call.json
      const { fields, kept, credential } = await sealBody(name, url, sent)
      await probeFirst({ kind: 'endpoint', name, spec: canonicalOf('endpoint', fields) }, credential)
      const endpoint = await create(ports, 'endpoint', name, { ...call, json: fields }, kept)
      return changedReply(endpoint, (await endpointPresenter())(endpoint))
    },
    async get_endpoint({ params }) {
      const { resource } = await find(ports, 'endpoint', params.name)
      return shownReply(resource, (await endpointPresenter())(resource))
    },
    update_endpoint: call => save(call.params.name, call.json, call),
    enable_endpoint: switchTo(true),
    disable_endpoint: switchTo(false),
    delete_endpoint: call => remove(ports, 'endpoint', call.params.name, call),
    async probe_endpoint({ params }) {
      const { resource } = await find(ports, 'endpoint', params.name)
      if (resource.spec['skip_probe'] === true) throw new ApiError('not_probed')
      const models = [decode('endpoint', resource.spec).served_model]
      const { latencyMs, ...verdict } = await ports.probe({ endpoint: resource, models })
      return {
        body: {
          endpoint: resource.name,
          ...verdict,
          ...(latencyMs !== undefined && { latency_ms: latencyMs }),
        },
      }
    },
  }
}

/**
 * Rejects headers that look like secrets. Checks the members of a patch one by one. @throws {ApiError} invalid_request
 */
function assertPlainHeaders(headers: Json | undefined): void {
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers)) return
  const [first] = secretHeaders(headers as Fields)
  if (first === undefined) return
  const detail =
    'this looks like a secret: send it as upstream_key, or as a reference in a configuration file'
  throw invalid([{ pointer: `/headers/${first}`, detail }])
}

/** Shows that a credential is stored, and since when; never the credential itself. */
function credentialShown({ name, spec }: StoredResource, kept: ReadonlyMap<string, number>) {
  const { upstream_key: reference, base_url: url } = decode('endpoint', spec)
  if (!reference || !('stored' in reference)) return {}
  const sinceMs = kept.get(storedFor(name, url))
  return { upstream_key: { stored: true, ...(sinceMs !== undefined && { since: iso(sinceMs) }) } }
}

/**
 * A stored credential is sent only to the origin it was set for: a new base_url must not be a way to read it there.
 *
 * @throws {ApiError} invalid_request
 */
function assertSameOrigin(before: CanonicalSpec, after: CanonicalSpec): void {
  const [from, to] = [decode('endpoint', before), decode('endpoint', after)]
  if (!to.upstream_key || destinationOf(from) === destinationOf(to)) return
  const detail = 'must be sent again with a new origin in base_url or a new proxy, or be null for none'
  throw invalid([{ pointer: '/upstream_key', detail }])
}
