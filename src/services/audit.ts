import { iso } from '../base/iso.ts'
import type { OperationId, OperationOf } from '../schema/api/operations.ts'
import type { AnswerOf, QueryOf } from '../schema/api/types.ts'
import type { AuditLine } from '../store/users/types.ts'
import type { Context } from './context.ts'
import { idBefore, pageOf } from './paging.ts'

type AuditQuery = QueryOf<OperationOf<'list_audit'>>

/** A change, in the vocabulary of the REST operations: one query of the audit finds a change of either interface. */
export interface AuditedChange extends Pick<AuditLine, 'target' | 'revision'> {
  readonly action: OperationId | 'adjust_wallet' | 'create_first_admin' | 'create_login_link'
}

/** Writes the line of a change. Each operation calls it once, and only if something has changed. */
export async function record(
  { actor, auditLog }: Pick<Context, 'actor' | 'auditLog'>,
  change: AuditedChange,
): Promise<void> {
  const { name: user = 'unknown', role, origin, address, requestId } = actor
  await auditLog.record({
    user,
    role,
    origin,
    ...(address !== undefined && { address }),
    ...(requestId !== undefined && { requestId }),
    ...change,
  })
}

/** The lines of the audit, newest first. */
export function listAudit(
  { store }: Pick<Context, 'store'>,
  { user, action, target, ...page }: AuditQuery,
): Promise<AnswerOf<OperationOf<'list_audit'>>> {
  const filters = {
    ...(user !== undefined && { user }),
    ...(action !== undefined && { action }),
    ...(target !== undefined && { target }),
  }
  return pageOf(
    page,
    (limit, mark) => store.users.audit({ ...filters, limit, ...idBefore(mark) }),
    line => line.id,
    ({ atMs, requestId, ...line }) => ({
      ...line,
      at: iso(atMs),
      ...(requestId !== undefined && { request_id: requestId }),
    }),
  )
}
