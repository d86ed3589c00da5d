import type { Kysely, Selectable } from 'kysely'
import type { AuditTable, Tables } from '../tables.ts'
import type { AuditLine, AuditQuery } from './types.ts'

export async function insertAudit(
  db: Kysely<Tables>,
  line: Omit<AuditLine, 'id' | 'atMs'>,
  nowMs: number,
): Promise<void> {
  await db
    .insertInto('audit')
    .values({
      at_ms: nowMs,
      user_name: line.user,
      role: line.role,
      origin: line.origin,
      address: line.address ?? null,
      action: line.action,
      target: line.target ?? null,
      revision: line.revision ?? null,
      request_id: line.requestId ?? null,
      reason: line.reason ?? null,
    })
    .execute()
}

export async function selectAudit(db: Kysely<Tables>, filter: AuditQuery): Promise<AuditLine[]> {
  let query = db
    .selectFrom('audit')
    .selectAll()
    .orderBy('id', 'desc')
    .limit(filter.limit ?? 50)
  if (filter.before !== undefined) query = query.where('id', '<', filter.before)
  if (filter.user !== undefined) query = query.where('user_name', '=', filter.user)
  if (filter.action !== undefined) query = query.where('action', '=', filter.action)
  if (filter.target !== undefined) query = query.where('target', '=', filter.target)
  return (await query.execute()).map(toLine)
}

function toLine(row: Selectable<AuditTable>): AuditLine {
  return {
    id: row.id,
    atMs: row.at_ms,
    user: row.user_name,
    role: row.role,
    origin: row.origin,
    ...(row.address !== null && { address: row.address }),
    action: row.action,
    ...(row.target !== null && { target: row.target }),
    ...(row.revision !== null && { revision: row.revision }),
    ...(row.request_id !== null && { requestId: row.request_id }),
    ...(row.reason !== null && { reason: row.reason }),
  }
}
