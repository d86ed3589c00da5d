import type Database from 'better-sqlite3'
import type { Kysely, Selectable } from 'kysely'
import type { GatewaysTable, Tables } from './tables.ts'
import type { GatewayReport, StoredGateway } from './types.ts'

const FORGOTTEN_AFTER_MS = 3_600_000

const PUT = `insert into gateways (id, pid, host, version, started_at_ms, seen_at_ms, url, revision, key_version,
    refused_revision, refusal, followed_paths, followed_watch)
  values (@id, @pid, @host, @version, @started_at_ms, @seen_at_ms, @url, @revision, @key_version,
    @refused_revision, @refusal, @followed_paths, @followed_watch)
  on conflict (id) do update set seen_at_ms = excluded.seen_at_ms, url = excluded.url, revision = excluded.revision,
    key_version = excluded.key_version, refused_revision = excluded.refused_revision, refusal = excluded.refusal`

export function putGateway(raw: Database.Database, report: GatewayReport, nowMs: number): void {
  const { id, pid, host, version, url, startedAtMs, revision, keyVersion, refused, follows } = report
  const row: Selectable<GatewaysTable> = {
    id,
    pid,
    host,
    version: version ?? null,
    started_at_ms: startedAtMs,
    seen_at_ms: nowMs,
    url: url ?? null,
    revision,
    key_version: keyVersion,
    refused_revision: refused?.revision ?? null,
    refusal: refused?.reason ?? null,
    followed_paths: follows ? JSON.stringify(follows.paths) : null,
    followed_watch: follows ? Number(follows.watch) : null,
  }
  raw.prepare(PUT).run(row)
  raw.prepare('delete from gateways where seen_at_ms < ?').run(nowMs - FORGOTTEN_AFTER_MS)
}

export function deleteGateway(raw: Database.Database, id: string): void {
  raw.prepare('delete from gateways where id = ?').run(id)
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
    ...(row.followed_paths !== null && {
      follows: { paths: JSON.parse(row.followed_paths) as string[], watch: row.followed_watch === 1 },
    }),
  }
}
