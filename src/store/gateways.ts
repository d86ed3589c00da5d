import type { Kysely, Selectable } from 'kysely'
import { type PlainSql, prepare } from './engine.ts'
import type { EndpointHealthTable, GatewaysTable, Tables } from './tables.ts'
import type { EndpointNews, GatewayReport, ReportedEndpoint, StoredGateway } from './types.ts'

const FORGOTTEN_AFTER_MS = 3_600_000

const COLUMNS = [
  'id',
  'pid',
  'host',
  'version',
  'started_at_ms',
  'seen_at_ms',
  'url',
  'revision',
  'key_version',
  'rejected_revision',
  'rejection',
  'followed_paths',
  'followed_watch',
  'supervisor_pid',
] as const satisfies (keyof GatewaysTable)[]

const PUT = `insert into gateways (${COLUMNS.join(', ')}) values (${COLUMNS.map(() => '?').join(', ')})
  on conflict (id) do update set seen_at_ms = excluded.seen_at_ms, url = excluded.url, revision = excluded.revision,
    key_version = excluded.key_version, rejected_revision = excluded.rejected_revision, rejection = excluded.rejection`

const PUT_ENDPOINT = `insert into endpoint_health (gateway_id, endpoint, state, since_ms, reason) values (?, ?, ?, ?, ?)
  on conflict (gateway_id, endpoint) do update set state = excluded.state, since_ms = excluded.since_ms,
    reason = excluded.reason`
const DELETE_ENDPOINT = 'delete from endpoint_health where gateway_id = ? and endpoint = ?'
export const DELETE_GATEWAY = [
  'delete from gateways where id = ?',
  'delete from endpoint_health where gateway_id = ?',
] as const
const DELETE_ORPHANS = 'delete from endpoint_health where gateway_id not in (select id from gateways)'

/** @param times `offMs`: by how much the clock of the store is ahead; what is stored is by that clock. */
export async function putGateway(
  raw: PlainSql,
  report: GatewayReport,
  endpoints: EndpointNews | undefined,
  { nowMs: ownMs, offMs }: { readonly nowMs: number; readonly offMs: number },
): Promise<void> {
  const nowMs = ownMs + offMs
  const { id, pid, supervisorPid, host, version, url, startedAtMs, revision, keyVersion, rejected, follows } =
    report
  const row: Selectable<GatewaysTable> = {
    id,
    pid,
    host,
    version: version ?? null,
    started_at_ms: startedAtMs + offMs,
    seen_at_ms: nowMs,
    url: url ?? null,
    revision,
    key_version: keyVersion,
    rejected_revision: rejected?.revision ?? null,
    rejection: rejected?.reason ?? null,
    followed_paths: follows ? JSON.stringify(follows.paths) : null,
    followed_watch: follows ? Number(follows.watch) : null,
    supervisor_pid: supervisorPid ?? null,
  }
  await prepare<unknown[]>(raw, PUT).run(...COLUMNS.map(column => row[column]))
  const { changes } = await prepare<[number]>(raw, 'delete from gateways where seen_at_ms < ?').run(
    nowMs - FORGOTTEN_AFTER_MS,
  )
  if (changes > 0) await prepare<[]>(raw, DELETE_ORPHANS).run()
  if (endpoints) await putEndpoints(raw, id, endpoints, offMs)
}

async function putEndpoints(
  raw: PlainSql,
  id: string,
  { seen, forgotten }: EndpointNews,
  offMs: number,
): Promise<void> {
  const put = prepare<unknown[]>(raw, PUT_ENDPOINT)
  for (const { endpoint, state, sinceMs, reason } of seen)
    await put.run(id, endpoint, state, sinceMs + offMs, reason ?? null)
  const remove = prepare<[string, string]>(raw, DELETE_ENDPOINT)
  for (const endpoint of forgotten) await remove.run(id, endpoint)
}

export async function deleteGateway(raw: PlainSql, id: string): Promise<void> {
  for (const statement of DELETE_GATEWAY) await prepare<[string]>(raw, statement).run(id)
}

/** Times are by the clock of this machine. */
export async function selectGateways(db: Kysely<Tables>, offMs: number): Promise<StoredGateway[]> {
  const rows = await db.selectFrom('gateways').selectAll().orderBy('started_at_ms').orderBy('id').execute()
  const health = await db.selectFrom('endpoint_health').selectAll().execute()
  const byGateway = new Map<string, ReportedEndpoint[]>()
  for (const row of health) {
    const known = byGateway.get(row.gateway_id)
    if (known) known.push(toEndpoint(row, offMs))
    else byGateway.set(row.gateway_id, [toEndpoint(row, offMs)])
  }
  return rows.map(row => toGateway(row, byGateway.get(row.id) ?? [], offMs))
}

function toEndpoint(
  { endpoint, state, since_ms, reason }: Selectable<EndpointHealthTable>,
  offMs: number,
): ReportedEndpoint {
  return { endpoint, state, sinceMs: since_ms - offMs, ...(reason !== null && { reason }) }
}

function toGateway(
  row: Selectable<GatewaysTable>,
  endpoints: readonly ReportedEndpoint[],
  offMs: number,
): StoredGateway {
  return {
    id: row.id,
    pid: row.pid,
    host: row.host,
    ...(row.supervisor_pid !== null && { supervisorPid: row.supervisor_pid }),
    ...(row.version !== null && { version: row.version }),
    ...(row.url !== null && { url: row.url }),
    startedAtMs: row.started_at_ms - offMs,
    seenAtMs: row.seen_at_ms - offMs,
    revision: row.revision,
    keyVersion: row.key_version,
    ...(row.rejected_revision !== null && {
      rejected: { revision: row.rejected_revision, reason: row.rejection ?? '' },
    }),
    ...(row.followed_paths !== null && {
      follows: { paths: JSON.parse(row.followed_paths) as string[], watch: row.followed_watch === 1 },
    }),
    endpoints,
  }
}
