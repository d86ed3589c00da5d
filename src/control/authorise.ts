import { ApiError } from '../base/catalogue/api.ts'
import { type OperationId, operation } from '../schema/api/operations.ts'
import { permission } from '../schema/api/permissions.ts'
import type { StoreReads } from '../store/types.ts'
import type { Authority } from '../store/users/types.ts'
import type { Caller } from './call.ts'
import type { LiveSession } from './session/sessions.ts'

/**
 * Who may call: by the table alone, and nobody who is not in it.
 * @returns undefined where the operation is open to anyone.
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
  // Bound to nothing it would see everything.
  if (tenant === undefined) throw new ApiError('forbidden', 'This user is bound to no tenant.')
  const target = targetOf(id, params)
  return { name, role, scope, tenant, session, authority: { ...authority, ...(target && { target }) } }
}

/** @throws {ApiError} forbidden, where a personal access token does not open it. */
function assertTokenMay(
  id: OperationId,
  { name }: Readonly<Record<string, string>>,
  { token }: LiveSession,
): void {
  // Each may end itself.
  if (!token || (id === 'revoke_token' && name === token.id)) return
  const { method, isReadOnly, needsSession } = operation(id)
  if (needsSession) throw new ApiError('forbidden', 'This needs a session: log in with a password.')
  if (token.scope === 'write' || method === 'GET' || isReadOnly) return
  throw new ApiError('forbidden', `The token ${token.name} may only read: its scope is \`read\`.`)
}

/** What the path names, where that belongs to a tenant. */
function targetOf(id: OperationId, { name }: Readonly<Record<string, string>>): Authority['target'] {
  const { target: kind } = operation(id)
  return kind && kind !== 'token' && name !== undefined ? { kind, name } : undefined
}

/**
 * What belongs to another tenant does not exist for a tenant, whatever it wants with it.
 * @throws {ApiError} not_found, as where there is nothing of that name.
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
      ? (await store.users.token(name))?.user === caller
      : target === 'tenant'
        ? name === tenant
        : target === 'key' && (await hasKey(store, name, tenant))
  if (!isOwn) throw new ApiError('not_found', `There is no ${target ?? 'such thing'} ${name}.`)
}

async function hasKey(store: StoreReads, name: string, tenant: string | undefined): Promise<boolean> {
  const [key] = (await store.find({ kind: 'key', name })).resources
  return key !== undefined && tenant !== undefined && key.spec['tenant'] === tenant
}
