import type { TokenScope } from '../token.ts'
import { ROLES, type Role } from '../user.ts'
import { OPERATION_IDS, type OperationId, operation } from './operations.ts'

/** `all`: every resource · `own`: resources of the tenant of the session; anything else is a 404. */
export type Scope = 'all' | 'own'

/** The roles that may call an operation: other roles are rejected. `anyone`: without a session. */
export type Permission = 'anyone' | { readonly [Name in Role]?: Scope }

const ADMIN = { admin: 'all' } as const satisfies Permission
const ALL_ROLES = { admin: 'all', tenant: 'own' } as const satisfies Permission

/**
 * Operation → roles → scope. Absent roles are denied, and an operation without a row does not compile.
 * Tenants manage the secrets of their keys and can suspend a key at once. They create and delete keys of their own
 * within the bounds of `self_service`; they do not change policies, because limits and budgets bind them, and they do
 * not end suspensions, because the operator may have made them.
 */
export const PERMISSIONS = {
  log_in: 'anyone',
  log_in_by_link: 'anyone',
  get_session: ALL_ROLES,
  log_out: ALL_ROLES,
  log_out_everywhere: ALL_ROLES,
  change_password: ALL_ROLES,

  list_users: ADMIN,
  create_user: ADMIN,
  get_user: ADMIN,
  update_user: ADMIN,
  reset_password: ADMIN,
  end_user_sessions: ADMIN,

  list_tokens: ALL_ROLES,
  create_token: ALL_ROLES,
  revoke_token: ALL_ROLES,

  list_endpoints: ADMIN,
  create_endpoint: ADMIN,
  get_endpoint: ADMIN,
  update_endpoint: ADMIN,
  enable_endpoint: ADMIN,
  disable_endpoint: ADMIN,
  delete_endpoint: ADMIN,
  probe_candidate: ADMIN,
  probe_endpoint: ADMIN,

  list_nodes: ADMIN,
  get_node: ADMIN,
  drain_node: ADMIN,
  uncordon_node: ADMIN,
  revoke_node: ADMIN,
  list_join_tokens: ADMIN,
  create_join_token: ADMIN,
  revoke_join_token: ADMIN,

  list_models: ALL_ROLES,
  list_publications: ADMIN,
  create_publication: ADMIN,
  get_publication: ADMIN,
  update_publication: ADMIN,
  delete_publication: ADMIN,

  list_bindings: ADMIN,
  create_binding: ADMIN,
  get_binding: ADMIN,
  update_binding: ADMIN,
  delete_binding: ADMIN,

  list_tenants: ALL_ROLES,
  create_tenant: ADMIN,
  get_tenant: ALL_ROLES,
  update_tenant: ADMIN,
  delete_tenant: ADMIN,

  get_wallet: ALL_ROLES,
  list_wallet_entries: ALL_ROLES,
  credit_wallet: ADMIN,
  debit_wallet: ADMIN,

  list_keys: ALL_ROLES,
  create_key: ALL_ROLES,
  get_key: ALL_ROLES,
  update_key: ADMIN,
  delete_key: ALL_ROLES,
  issue_key: ALL_ROLES,
  rotate_key: ALL_ROLES,
  disable_key: ALL_ROLES,
  enable_key: ADMIN,
  revoke_key: ALL_ROLES,

  call_playground: ALL_ROLES,

  get_usage: ALL_ROLES,
  list_calls: ALL_ROLES,
  list_rejections: ALL_ROLES,

  validate_config: ADMIN,
  plan_config: ADMIN,
  preview_change: ADMIN,
  apply_config: ADMIN,
  list_sets: ADMIN,
  export_config: ADMIN,
  list_revisions: ADMIN,
  get_revision: ADMIN,
  roll_back: ADMIN,

  get_maintenance: ADMIN,
  set_maintenance: ADMIN,

  get_status: ADMIN,
  get_pulse: ADMIN,
  watch_events: ALL_ROLES,
  list_gateways: ADMIN,
  forget_gateway: ADMIN,
  explain: ALL_ROLES,
  explain_secret: ADMIN,
  list_audit: ADMIN,
} as const satisfies Readonly<Record<OperationId, Permission>>

/** The permission of an operation with the general type. */
export function permission(id: OperationId): Permission {
  return PERMISSIONS[id]
}

/** The roles that may call an operation; empty: anyone may, without a session. */
export function rolesOf(id: OperationId): readonly Role[] {
  const allowed = permission(id)
  return allowed === 'anyone' ? [] : ROLES.filter(role => allowed[role] !== undefined)
}

/** Whether a personal access token may call an operation that its user may call. */
export function isOpenToToken(id: OperationId, scope: TokenScope): boolean {
  const { method, isReadOnly, sendsRequests, needsSession } = operation(id)
  if (needsSession) return false
  return scope === 'write' || method === 'GET' || (isReadOnly === true && !sendsRequests)
}

/** The operations of a session of this role. @param scope of a personal access token. */
export function operationsOf(role: Role, scope?: TokenScope): readonly OperationId[] {
  return OPERATION_IDS.filter(
    id => rolesOf(id).includes(role) && (scope === undefined || isOpenToToken(id, scope)),
  )
}

/**
 * Whether the rate of the operation is limited for tenants: changes, except log-ins and log-outs, and explanations, which the
 * gateway computes on the thread that serves calls.
 */
export function isCounted(id: OperationId): boolean {
  const { method, tag, isReadOnly } = operation(id)
  const allowed = permission(id)
  const isOfTenants = allowed !== 'anyone' && allowed.tenant !== undefined
  const isChange = method !== 'GET' && !isReadOnly && tag !== 'session'
  return isOfTenants && (isChange || id === 'explain')
}
