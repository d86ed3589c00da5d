import { type Kysely, type Selectable, sql } from 'kysely'
import type { CallLogsTable, Tables } from '../tables.ts'
import { toFlags } from './columns.ts'
import type { CallLogQuery, StoredCall } from './types.ts'

type CallRow = Omit<Selectable<CallLogsTable>, 'amount_nano'> & { readonly nano: string }

export async function selectCalls(db: Kysely<Tables>, query: CallLogQuery): Promise<StoredCall[]> {
  let select = db
    .selectFrom('call_logs')
    .select([
      'id',
      'at_ms',
      'request_id',
      'key_name',
      'tenant',
      'publication',
      'endpoint',
      'protocol',
      'path',
    ])
    .select(['status', 'stream', 'outcome', 'error_code', 'input_tokens', 'cached_input_tokens'])
    .select(['cache_write_tokens', 'output_tokens', 'search_units', 'duration_ms', 'characters', 'images'])
    .select(['flags', 'latency_ms', 'first_byte_ms'])
    .select(['attempts', 'reason', 'failed_attempts', sql<string>`cast(amount_nano as text)`.as('nano')])
    .orderBy('id', query.after === undefined ? 'desc' : 'asc')
    .limit(query.limit ?? 100)
  if (query.after !== undefined) select = select.where('id', '>', query.after)
  if (query.before !== undefined) select = select.where('id', '<', query.before)
  if (query.key !== undefined) select = select.where('key_name', '=', query.key)
  if (query.tenant !== undefined) select = select.where('tenant', '=', query.tenant)
  if (query.publication !== undefined) select = select.where('publication', '=', query.publication)
  if (query.endpoint !== undefined) select = select.where('endpoint', '=', query.endpoint)
  if (query.requestId !== undefined) select = select.where('request_id', '=', query.requestId)
  if (query.outcome !== undefined) select = select.where('outcome', '=', query.outcome)
  if (query.minStatus !== undefined) select = select.where('status', '>=', query.minStatus)
  if (query.maxStatus !== undefined) select = select.where('status', '<=', query.maxStatus)
  if (query.sinceMs !== undefined) select = select.where('at_ms', '>=', query.sinceMs)
  if (query.untilMs !== undefined) select = select.where('at_ms', '<', query.untilMs)
  return (await select.execute()).map(toCall)
}

function toCall(row: CallRow): StoredCall {
  return {
    id: row.id,
    requestId: row.request_id,
    atMs: row.at_ms,
    key: row.key_name,
    ...(row.tenant !== null && { tenant: row.tenant }),
    publication: row.publication,
    ...(row.endpoint !== null && { endpoint: row.endpoint }),
    protocol: row.protocol as StoredCall['protocol'],
    path: row.path,
    status: row.status,
    stream: row.stream === 1,
    outcome: row.outcome,
    ...(row.error_code !== null && { errorCode: row.error_code }),
    ...(row.input_tokens !== null && {
      usage: {
        inputTokens: row.input_tokens,
        cachedInputTokens: row.cached_input_tokens ?? 0,
        cacheWriteTokens: row.cache_write_tokens ?? 0,
        outputTokens: row.output_tokens ?? 0,
        searchUnits: row.search_units ?? 0,
        durationMs: row.duration_ms ?? 0,
        characters: row.characters ?? 0,
        images: row.images ?? 0,
      },
    }),
    amountNano: BigInt(row.nano),
    flags: toFlags(row.flags),
    latencyMs: row.latency_ms,
    ...(row.first_byte_ms !== null && { firstByteMs: row.first_byte_ms }),
    attempts: row.attempts,
    ...(row.reason !== null && { reason: row.reason }),
    ...(row.failed_attempts !== null && { failedAttempts: JSON.parse(row.failed_attempts) as string[] }),
  }
}
