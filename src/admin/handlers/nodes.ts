import {
  createJoinToken,
  drainNode,
  listJoinTokens,
  listNodes,
  revokeJoinToken,
  revokeNode,
  showNode,
  uncordonNode,
} from '../../services/nodes.ts'
import type { HandlersOf } from '../call.ts'
import type { UseCasePorts } from '../ports.ts'

type Ids =
  | 'list_nodes'
  | 'get_node'
  | 'drain_node'
  | 'uncordon_node'
  | 'revoke_node'
  | 'list_join_tokens'
  | 'create_join_token'
  | 'revoke_join_token'

export function nodeHandlers({ nodeActivity }: Pick<UseCasePorts, 'nodeActivity'>): HandlersOf<Ids> {
  return {
    async list_nodes({ query, context }) {
      return { body: await listNodes({ ...context, nodeActivity }, query) }
    },
    async get_node({ params, context }) {
      return { body: await showNode({ ...context, nodeActivity }, params) }
    },
    async drain_node({ params, context }) {
      return { body: await drainNode({ ...context, nodeActivity }, params) }
    },
    async uncordon_node({ params, context }) {
      return { body: await uncordonNode({ ...context, nodeActivity }, params) }
    },
    async revoke_node({ params, context }) {
      return { body: await revokeNode(context, params) }
    },
    async list_join_tokens({ query, context }) {
      return { body: await listJoinTokens(context, query) }
    },
    async create_join_token({ body: { expires_in: spanMs, ...wanted }, context }) {
      return { body: await createJoinToken({ ...context, nodeActivity }, { ...wanted, spanMs }) }
    },
    async revoke_join_token({ params, context }) {
      await revokeJoinToken(context, { id: params.name })
      return { body: undefined }
    },
  }
}
