import { ApiError } from '../base/catalogue/api.ts'
import { type OperationId, operation } from '../schema/api/operations.ts'
import { isOpenToToken, permission } from '../schema/api/permissions.ts'
import type { LiveSession } from '../services/sessions.ts'
import type { StoreReads } from '../store/types.ts'
import type { Authority, StoredToken } from '../store/users/types.ts'
import type { Caller } from './call.ts'

/**
 * Authorises an operation by the permission table alone; what the table does not list is forbidden.
 * @returns undefined if the operation is open to anyone.
 * @throws {ApiError} not_logged_in, forbidden
 */
export function allow(
  id: OperationId,
  params: Readonly<Record<string, string>>,
  session: LiveSession | undefined,
): Caller | undefined {
  const permitted = permission(id)
  if (permitted === 'anyone') return undefined
  if (!session) throw new ApiError('not_logged_in')
  assertTokenMay(id, params, session)
  const { name, role, tenant } = session.user
  const scope = permitted[role]
  if (scope === undefined) throw new ApiError('forbidden', `The role ${role} may not do this.`)
  const authority = { session: session.digest, role }
  if (scope === 'all') return { name, role, scope, session, authority }
  // Without a tenant, the user would see all tenants.
  if (tenant === undefined) throw new ApiError('forbidden', 'This user is not bound to a tenant.')
  const target = targetOf(id, params)
  return { name, role, scope, tenant, session, authority: { ...authority, ...(target && { target }) } }
}

/** @throws {ApiError} forbidden if a personal access token may not do this. */
function assertTokenMay(
  id: OperationId,
  { name }: Readonly<Record<string, string>>,
  { token }: LiveSession,
): void {
  // A token may always revoke itself.
  if (!token || (id === 'revoke_token' && name === token.id)) return
  if (operation(id).needsSession)
    throw new ApiError('forbidden', 'This needs a session: log in with a password.')
  if (isOpenToToken(id, token.scope)) return
  throw new ApiError('forbidden', `The token ${token.name} may only read: its scope is \`read\`.`)
}

/** The target in the path, if its kind can belong to a tenant. */
function targetOf(id: OperationId, { name }: Readonly<Record<string, string>>): Authority['target'] {
  const { target: kind } = operation(id)
  return kind && kind !== 'token' && name !== undefined ? { kind, name } : undefined
}

/**
 * Resources of other tenants do not exist for a tenant, for reads and changes alike.
 * @throws {ApiError} not_found, exactly as for a name that does not exist.
 */
export async function assertReachable(
  id: OperationId,
  params: Readonly<Record<string, string>>,
  { scope, tenant, name: caller }: Caller,
  store: StoreReads,
): Promise<void> {
  if (scope === 'all') return
  const { target, params: declared } = operation(id)
  if (!declared) return
  const { name = '' } = params
  const isOwn =
    target === 'token'
      ? isTokenOf(await store.users.token(name), caller, tenant)
      : target === 'tenant'
        ? name === tenant
        : target === 'key' && (await hasKey(store, name, tenant))
  if (!isOwn) throw new ApiError('not_found', `There is no ${target ?? 'such thing'} ${name}.`)
}

function isTokenOf(token: StoredToken | undefined, user: string, tenant: string | undefined): boolean {
  return token?.user === user && token.tenant === tenant
}

async function hasKey(store: StoreReads, name: string, tenant: string | undefined): Promise<boolean> {
  const [key] = (await store.find({ kind: 'key', name })).resources
  return key !== undefined && tenant !== undefined && key.spec['tenant'] === tenant
}
