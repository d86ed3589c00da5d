import type { Kysely, Selectable } from 'kysely'
import type { GatewaysTable, Tables } from './tables.ts'
import type { GatewayReport, StoredGateway } from './types.ts'

const FORGOTTEN_AFTER_MS = 3_600_000

export async function putGateway(db: Kysely<Tables>, report: GatewayReport, nowMs: number): Promise<void> {
  const { id, pid, host, version, url, startedAtMs, revision, keyVersion, refused } = report
  const news = {
    seen_at_ms: nowMs,
    url: url ?? null,
    revision,
    key_version: keyVersion,
    refused_revision: refused?.revision ?? null,
    refusal: refused?.reason ?? null,
  }
  await db
    .insertInto('gateways')
    .values({ id, pid, host, version: version ?? null, started_at_ms: startedAtMs, ...news })
    .onConflict(conflict => conflict.column('id').doUpdateSet(news))
    .execute()
  await db
    .deleteFrom('gateways')
    .where('seen_at_ms', '<', nowMs - FORGOTTEN_AFTER_MS)
    .execute()
}

export async function deleteGateway(db: Kysely<Tables>, id: string): Promise<void> {
  await db.deleteFrom('gateways').where('id', '=', id).execute()
}

export async function selectGateways(db: Kysely<Tables>): Promise<StoredGateway[]> {
  const rows = await db.selectFrom('gateways').selectAll().orderBy('started_at_ms').orderBy('id').execute()
  return rows.map(toGateway)
}

function toGateway(row: Selectable<GatewaysTable>): StoredGateway {
  return {
    id: row.id,
    pid: row.pid,
    host: row.host,
    ...(row.version !== null && { version: row.version }),
    ...(row.url !== null && { url: row.url }),
    startedAtMs: row.started_at_ms,
    seenAtMs: row.seen_at_ms,
    revision: row.revision,
    keyVersion: row.key_version,
    ...(row.refused_revision !== null && {
      refused: { revision: row.refused_revision, reason: row.refusal ?? '' },
    }),
  }
}
