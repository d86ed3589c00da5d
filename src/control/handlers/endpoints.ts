import { ApiError } from '../../base/catalogue/api.ts'
import { ProbeError } from '../../changes/refusals.ts'
import type { Fields } from '../../schema/api/reshape.ts'
import { decode, type Resource } from '../../schema/kinds.ts'
import type { StoredResource } from '../../store/types.ts'
import type { Call, Caller, HandlersOf } from '../call.ts'
import type { UseCasePorts } from '../ports.ts'
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

/** What decides what is sent to an upstream, and where. */
const TELLING_FIELDS = [
  'base_url',
  'served_model',
  'protocol',
  'auth',
  'upstream_key',
  'headers',
  'enabled',
  'skip_probe',
]

export function endpointHandlers(ports: UseCasePorts): HandlersOf<Ids> {
  const show = (resource: StoredResource, all = ports.endpointHealth()) => {
    const health = all.get(resource.name)
    return { ...shown(resource), ...(health && { health }) }
  }

  async function save(name: string, fields: Fields, call: { caller: Caller; version?: number }) {
    const { resource } = await find(ports, 'endpoint', name)
    const spec = canonicalOf('endpoint', patched(resource.spec, fields))
    const isTelling = TELLING_FIELDS.some(
      field => JSON.stringify(spec[field]) !== JSON.stringify(resource.spec[field]),
    )
    // What a file declares is refused below, and nobody is asked for a chat that nothing comes of.
    if (isTelling && resource.owner !== 'config') await probeFirst({ kind: 'endpoint', name, spec })
    const endpoint = await update(ports, 'endpoint', name, { ...call, json: fields })
    return changedReply(endpoint, show(endpoint))
  }

  /** @throws {ProbeError} GW5001 */
  async function probeFirst(endpoint: Resource): Promise<void> {
    const { spec, name } = endpoint
    if (spec['enabled'] === false || spec['skip_probe'] === true) return
    const { served_model: model } = decode('endpoint', spec)
    const verdict = await ports.probe({ endpoint, models: [model] })
    if (!verdict.ok) {
      throw new ProbeError([{ endpoint: name, model, cause: verdict.cause, mend: verdict.mend }])
    }
  }

  const switchTo =
    (enabled: boolean) =>
    ({ params, caller }: Pick<Call<'enable_endpoint'>, 'params' | 'caller'>) =>
      save(params.name, { enabled }, { caller })

  return {
    async list_endpoints({ query }) {
      const all = ports.endpointHealth()
      return { body: await list(ports, 'endpoint', query, resource => show(resource, all)) }
    },
    async create_endpoint({ body: { name }, json, caller }) {
      const { name: _name, ...fields } = json
      await probeFirst({ kind: 'endpoint', name, spec: canonicalOf('endpoint', fields) })
      const endpoint = await create(ports, 'endpoint', name, fields, caller)
      return changedReply(endpoint, show(endpoint))
    },
    async get_endpoint({ params }) {
      const { resource } = await find(ports, 'endpoint', params.name)
      return shownReply(resource, show(resource))
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
