import { forgetGateway, listGateways } from '../../services/joined-gateways.ts'
import type { HandlersOf } from '../call.ts'

export const gatewayHandlers: HandlersOf<'list_gateways' | 'forget_gateway'> = {
  async list_gateways({ query, context }) {
    return { body: await listGateways(context, query) }
  },
  async forget_gateway({ params: { id }, query: { force }, context }) {
    return { body: await forgetGateway(context, { id, isForced: force === 'true' }) }
  },
}
