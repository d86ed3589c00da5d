import type { Handlers } from '../call.ts'
import type { UseCasePorts } from '../ports.ts'
import { bindingHandlers } from './bindings.ts'
import { configHandlers } from './config.ts'
import { endpointHandlers } from './endpoints.ts'
import { gatewayHandlers } from './gateways.ts'
import { keyHandlers } from './keys.ts'
import { nodeHandlers } from './nodes.ts'
import { type LivePorts, operatingHandlers } from './operating.ts'
import { playgroundHandlers } from './playground.ts'
import { publicationHandlers } from './publications.ts'
import { type SessionPorts, sessionHandlers } from './session.ts'
import { tenantHandlers } from './tenants.ts'
import { tokenHandlers } from './tokens.ts'
import { usageHandlers } from './usage.ts'
import { userHandlers } from './users.ts'
import { walletHandlers } from './wallet.ts'
import { whyHandlers } from './why.ts'

/** All handlers; a missing one does not compile. */
export function allHandlers(ports: UseCasePorts & LivePorts, sessions: SessionPorts): Handlers {
  return {
    ...sessionHandlers(sessions),
    ...userHandlers,
    ...tokenHandlers,
    ...endpointHandlers(ports),
    ...nodeHandlers(ports),
    ...gatewayHandlers,
    ...publicationHandlers,
    ...bindingHandlers,
    ...tenantHandlers,
    ...walletHandlers,
    ...keyHandlers,
    ...usageHandlers,
    ...playgroundHandlers(ports),
    ...configHandlers(ports),
    ...operatingHandlers(ports),
    ...whyHandlers(ports),
  }
}
