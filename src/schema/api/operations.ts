import { bindingOperations } from './bindings.ts'
import { configOperations } from './config.ts'
import { endpointOperations } from './endpoints.ts'
import { gatewayOperations } from './gateways.ts'
import { keyOperations } from './keys.ts'
import { nodeOperations } from './nodes.ts'
import { auditOperations, maintenanceOperations, statusOperations } from './operating.ts'
import { playgroundOperations } from './playground.ts'
import { publicationOperations } from './publications.ts'
import { sessionOperations } from './session.ts'
import { tenantOperations } from './tenants.ts'
import { tokenOperations } from './tokens.ts'
import type { Operation } from './types.ts'
import { callOperations, usageOperations } from './usage.ts'
import { userOperations } from './users.ts'
import { walletOperations } from './wallet.ts'
import { whyOperations } from './why.ts'

/** The prefix of all paths. */
export const API_PREFIX = '/api/v1'

/**
 * All operations of the control plane, by operation id. An operation without a row in `PERMISSIONS` or without a
 * handler does not compile.
 */
export const OPERATIONS = {
  ...sessionOperations,
  ...userOperations,
  ...tokenOperations,
  ...endpointOperations,
  ...nodeOperations,
  ...publicationOperations,
  ...bindingOperations,
  ...tenantOperations,
  ...walletOperations,
  ...keyOperations,
  ...usageOperations,
  ...callOperations,
  ...playgroundOperations,
  ...configOperations,
  ...maintenanceOperations,
  ...statusOperations,
  ...gatewayOperations,
  ...whyOperations,
  ...auditOperations,
} as const

export type OperationId = keyof typeof OPERATIONS
export type OperationOf<Id extends OperationId> = (typeof OPERATIONS)[Id]

export const OPERATION_IDS = Object.keys(OPERATIONS) as OperationId[]

/** An operation with the general type. */
export function operation(id: OperationId): Operation {
  return OPERATIONS[id]
}
