import type { Context } from '../../services/context.ts'
import {
  createEndpoint,
  type EndpointContext,
  listEndpoints,
  showEndpoint,
  updateEndpoint,
} from '../../services/endpoints.ts'
import { probeCandidate, probeOneEndpoint } from '../../services/probe.ts'
import { remove } from '../../services/resources.ts'
import type { Call, HandlersOf } from '../call.ts'
import { canonicalOf, patchedSpec, versionedReply } from '../merge-patch.ts'
import type { UseCasePorts } from '../ports.ts'

type Ids =
  | 'list_endpoints'
  | 'create_endpoint'
  | 'get_endpoint'
  | 'update_endpoint'
  | 'enable_endpoint'
  | 'disable_endpoint'
  | 'delete_endpoint'
  | 'probe_candidate'
  | 'probe_endpoint'

export function endpointHandlers({
  probe,
  sealCredential,
  endpointHealth,
}: Pick<UseCasePorts, 'probe' | 'sealCredential' | 'endpointHealth'>): HandlersOf<Ids> {
  const withEndpoints = (context: Context): EndpointContext => {
    return { ...context, probe, sealCredential, endpointHealth }
  }
  const switchTo =
    (action: 'enable_endpoint' | 'disable_endpoint') =>
    async ({ params, context }: Call<'enable_endpoint'> | Call<'disable_endpoint'>) => {
      const change = { ...params, sent: { enabled: action === 'enable_endpoint' } }
      return versionedReply(await updateEndpoint(withEndpoints(context), action, change, patchOf))
    }
  return {
    async list_endpoints({ query, context }) {
      return { body: await listEndpoints(withEndpoints(context), query) }
    },
    async create_endpoint({ json: { name: _name, ...sent }, body: { name }, context }) {
      const canonical = (fields: typeof sent) => canonicalOf('endpoint', fields)
      return versionedReply(await createEndpoint(withEndpoints(context), { name, sent }, canonical))
    },
    async get_endpoint({ params, context }) {
      return versionedReply(await showEndpoint(withEndpoints(context), params))
    },
    async update_endpoint({ params, json: sent, version, context }) {
      const change = { ...params, sent, ...(version !== undefined && { version }) }
      return versionedReply(await updateEndpoint(withEndpoints(context), 'update_endpoint', change, patchOf))
    },
    enable_endpoint: switchTo('enable_endpoint'),
    disable_endpoint: switchTo('disable_endpoint'),
    async delete_endpoint({ params, version, context }) {
      return { body: await remove(context, 'delete_endpoint', { kind: 'endpoint', ...params, version }) }
    },
    async probe_candidate({ json: sent, context }) {
      return {
        body: await probeCandidate(withEndpoints(context), sent, fields => canonicalOf('endpoint', fields)),
      }
    },
    async probe_endpoint({ params, query, context }) {
      return { body: await probeOneEndpoint(withEndpoints(context), { ...params, ...query }) }
    },
  }
}

function patchOf(fields: Parameters<typeof patchedSpec>[1]) {
  return patchedSpec('endpoint', fields)
}
