import type { Role } from '../user.ts'
import { type OperationId, operation } from './operations.ts'

/** `all`: whatever there is · `own`: what belongs to the tenant of the session; anything else is a 404. */
export type Scope = 'all' | 'own'

/** Who may call an operation: a role that is not named is rejected. `anyone`: without a session. */
export type Permission = 'anyone' | { readonly [Name in Role]?: Scope }

const ADMIN = { admin: 'all' } as const satisfies Permission
const EVERYBODY = { admin: 'all', tenant: 'own' } as const satisfies Permission

/**
 * Operation → roles → scope. What is not here is denied, and an operation without a row does not compile.
 *
 * Tenants look after the secrets of their keys and can stop one at once; they do not set policies, because limits and
 * budgets bind them, and they do not take back what was disabled, because that may have been the operator's doing.
 */
export const PERMISSIONS = {
  log_in: 'anyone',
  get_session: EVERYBODY,
  log_out: EVERYBODY,
  log_out_everywhere: EVERYBODY,
  change_password: EVERYBODY,

  list_users: ADMIN,
  create_user: ADMIN,
  get_user: ADMIN,
  update_user: ADMIN,
  reset_password: ADMIN,
  end_user_sessions: ADMIN,

  list_tokens: EVERYBODY,
  create_token: EVERYBODY,
  revoke_token: EVERYBODY,

  list_endpoints: ADMIN,
  create_endpoint: ADMIN,
  get_endpoint: ADMIN,
  update_endpoint: ADMIN,
  enable_endpoint: ADMIN,
  disable_endpoint: ADMIN,
  delete_endpoint: ADMIN,
  probe_endpoint: ADMIN,

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

  list_tenants: EVERYBODY,
  create_tenant: ADMIN,
  get_tenant: EVERYBODY,
  update_tenant: ADMIN,
  delete_tenant: ADMIN,

  get_wallet: EVERYBODY,
  list_wallet_entries: EVERYBODY,
  credit_wallet: ADMIN,
  debit_wallet: ADMIN,

  list_keys: EVERYBODY,
  create_key: ADMIN,
  get_key: EVERYBODY,
  update_key: ADMIN,
  delete_key: ADMIN,
  issue_key: EVERYBODY,
  rotate_key: EVERYBODY,
  disable_key: EVERYBODY,
  enable_key: ADMIN,
  revoke_key: EVERYBODY,

  get_usage: EVERYBODY,
  list_calls: EVERYBODY,

  validate_config: ADMIN,
  plan_config: ADMIN,
  apply_config: ADMIN,
  list_revisions: ADMIN,
  roll_back: ADMIN,

  get_maintenance: ADMIN,
  set_maintenance: ADMIN,

  get_status: ADMIN,
  explain: ADMIN,
  explain_secret: ADMIN,
  list_audit: ADMIN,
} as const satisfies Readonly<Record<OperationId, Permission>>

/** The permission of an operation as data like every other. */
export function permission(id: OperationId): Permission {
  return PERMISSIONS[id]
}

/** Whether tenants may do it only so often: what changes something of theirs, log-ins and log-outs apart. */
export function isCounted(id: OperationId): boolean {
  const { method, tag, isQuestion } = operation(id)
  const allowed = permission(id)
  const isOfTenants = allowed !== 'anyone' && allowed.tenant !== undefined
  return method !== 'GET' && isOfTenants && !isQuestion && tag !== 'session'
}
