import type { CallRecord, HoldEnd, Settlement, Usage } from '../../../schema/ledger.ts'
import { codeOf, fromFlags, USAGE_COLUMNS } from '../../ledger/columns.ts'
import { bytesArray, numberArray, textArray } from './array-literals.ts'
import { keyOf, parseKeys, type References } from './hold-rows.ts'
import type { Database, Value } from './lane-connection.ts'
import { toRequestBytes } from './request-id.ts'

/** The part of a hold that its end needs. */
export interface OpenHold {
  readonly openedAtMs: number
  readonly amountNano: bigint
  readonly tokens: number
  readonly priceId: number | null
}

/** An end, with its hold. */
export interface EndRow {
  readonly end: HoldEnd
  readonly hold: OpenHold
}

export interface EndBatch {
  readonly ends: readonly EndRow[]
  readonly logs: readonly CallRecord[]
}

const SETTLE = codeOf('settle')
const RELEASE = codeOf('release')

/** Numbers the parameters of a statement, from 2 on: the first is the instance. */
class Parameters {
  readonly values: Value[]
  constructor(instance: string) {
    this.values = [instance]
  }
  /** An array of a type. */
  add(type: string, literal: string): string {
    return `${this.one(literal, type)}[]`
  }
  one(value: Value, type: string): string {
    this.values.push(value)
    return `$${this.values.length}::${type}`
  }
}

const END_COLUMNS = [
  'kind',
  'at_ms',
  'opened_at_ms',
  'request',
  'attempt',
  'key_id',
  'tenant_id',
  'publication_id',
  'endpoint_id',
  'amount_nano',
  ...USAGE_COLUMNS,
  'flags',
  'price_id',
  'reason_id',
  'open_ms',
  'held_nano',
  'held_tokens',
].join(', ')
const LOG_COLUMNS = [
  'at_ms',
  'request',
  'key_id',
  'tenant_id',
  'publication_id',
  'endpoint_id',
  'path_id',
  'status',
  'stream',
  'outcome_id',
  'error_code_id',
  ...USAGE_COLUMNS,
  'amount_nano',
  'flags',
  'latency_ms',
  'first_byte_ms',
  'attempts',
  'reason',
  'failed_attempts',
  'node_id',
].join(', ')
const STORED_COLUMNS = 'id, key_name, tenant, publication, endpoint, tokens, expires_at_ms'

/** What a batch has written. */
export interface InsertedEnds {
  /** False if the instance is no longer there: nothing was written. */
  readonly isThere: boolean
  /** Undefined: all of them. Others have ended before. */
  readonly keys: ReadonlySet<string> | undefined
}

export async function loadEndReferences(
  db: Database,
  { names, partitions }: References,
  { ends, logs }: EndBatch,
): Promise<void> {
  await names.load(db, [
    ...ends.flatMap(({ end }) => [
      end.key,
      end.tenant,
      end.publication,
      end.endpoint,
      end.kind === 'release' ? end.reason : undefined,
    ]),
    ...logs.flatMap(log => [
      log.key,
      log.tenant,
      log.publication,
      log.endpoint,
      log.path,
      log.outcome,
      log.errorCode,
      log.node,
    ]),
  ])
  await partitions.ensure(
    db,
    'ledger',
    ends.map(({ hold }) => hold.openedAtMs),
  )
  await partitions.ensure(
    db,
    'call_logs',
    logs.map(({ atMs }) => atMs),
  )
}

/**
 * Writes a batch in one statement. The transaction is synchronous: when it resolves, the batch survives a power cut of the server, and so
 * does everything that was committed before.
 */
export async function insertEnds(
  db: Database,
  instance: string,
  references: References,
  { ends, logs }: EndBatch,
): Promise<InsertedEnds> {
  const parameters = new Parameters(instance)
  const parts = [
    // Who recovers this instance waits for batches under way.
    'me as materialized (select serial from instances where id = $1 for key share)',
    // A server or a user may have it off.
    `setting as materialized (select set_config('synchronous_commit', 'on', true))`,
  ]
  if (ends.length > 0) {
    parts.push(`ended as (
      insert into ledger (instance, ${END_COLUMNS})
      select me.serial, row.* from me, setting, unnest(${endArrays(parameters, references, ends)}) as row
      on conflict do nothing returning request, attempt)`)
  }
  if (logs.length > 0) {
    parts.push(`logged as (
      insert into call_logs (${LOG_COLUMNS}) select row.* from me, unnest(${logArrays(parameters, references, logs)}) as row)`)
  }
  const stored = ends.flatMap(({ end }) => (end.kind === 'settle' && end.stored ? storedRows(end) : []))
  if (stored.length > 0) {
    const nowMs = Math.max(...ends.map(({ end }) => end.endedAtMs))
    parts.push(`kept as (${storedInsert(parameters, stored, nowMs)})`)
  }
  const { rows } = await db.query(
    `with ${parts.join(', ')} ${ends.length === 0 ? NO_ENDS : resultOf(parameters.one(ends.length, 'int8'))}`,
    parameters.values,
  )
  const [there, ended, keys] = rows[0] as [number, number, string | null]
  const isComplete = ended === ends.length
  return { isThere: there > 0, keys: isComplete ? undefined : new Set(parseKeys(keys)) }
}

const NO_ENDS = 'select (select count(*) from me), 0, null from setting'
const resultOf = (count: string) => `
  select (select count(*) from me), count(*),
    case when count(*) < ${count} then json_agg(json_build_array(encode(request, 'hex'), attempt)) end from ended`

/** Commits nothing, synchronously: everything that was committed before survives a power cut then. */
export async function syncStore(db: Database): Promise<void> {
  await db.query(
    `select set_config('synchronous_commit', 'on', true), pg_logical_emit_message(true, 'gw', '')`,
  )
}

/** The first end of a hold, in words: `settle 400`; undefined if it has none. */
export async function firstEndOf(
  db: Database,
  requestId: string,
  attempt: number,
): Promise<{ readonly kind: number; readonly amountNano: bigint } | undefined> {
  const { rows } = await db.query(
    'select kind, amount_nano::text from ledger where request = $1 and attempt = $2 order by id limit 1',
    [toRequestBytes(requestId), attempt],
  )
  const [row] = rows as [number, string][]
  return row && { kind: row[0], amountNano: BigInt(row[1]) }
}

export function endKeyOf({ requestId, attempt }: HoldEnd): string {
  return keyOf(toRequestBytes(requestId), attempt)
}

function endArrays(parameters: Parameters, { names }: References, rows: readonly EndRow[]): string {
  const settled = ({ end }: EndRow) => (end.kind === 'settle' ? end : undefined)
  const column = (type: string, value: (row: EndRow) => number | bigint | null | undefined) =>
    parameters.add(type, numberArray(rows.map(row => value(row) ?? null)))
  const usage = (field: keyof Usage) => column('int8', row => settled(row)?.usage[field])
  return [
    column('int2', ({ end }) => (end.kind === 'settle' ? SETTLE : RELEASE)),
    column('int8', ({ end }) => end.endedAtMs),
    column('int8', ({ hold }) => hold.openedAtMs),
    parameters.add('bytea', bytesArray(rows.map(({ end }) => toRequestBytes(end.requestId)))),
    column('int2', ({ end }) => end.attempt),
    column('int4', ({ end }) => names.idOf(end.key)),
    column('int4', ({ end }) => names.idOrNull(end.tenant)),
    column('int4', ({ end }) => names.idOf(end.publication)),
    column('int4', ({ end }) => names.idOf(end.endpoint)),
    column('int8', row => settled(row)?.amountNano ?? 0),
    ...USAGE.map(usage),
    column('int2', row => fromFlags(settled(row)?.flags ?? [])),
    column('int4', row => (settled(row) ? row.hold.priceId : null)),
    column('int4', ({ end }) => (end.kind === 'release' ? names.idOf(end.reason) : null)),
    column('int8', ({ end, hold }) => end.endedAtMs - hold.openedAtMs),
    column('int8', ({ hold }) => hold.amountNano),
    column('int8', ({ hold }) => hold.tokens),
  ].join(', ')
}

const USAGE = [
  'inputTokens',
  'cachedInputTokens',
  'cacheWriteTokens',
  'outputTokens',
  'searchUnits',
  'durationMs',
  'characters',
  'images',
] as const

function logArrays(parameters: Parameters, { names }: References, rows: readonly CallRecord[]): string {
  const column = (type: string, value: (row: CallRecord) => number | bigint | null | undefined) =>
    parameters.add(type, numberArray(rows.map(row => value(row) ?? null)))
  const text = (value: (row: CallRecord) => string | undefined) =>
    parameters.add('text', textArray(rows.map(row => value(row) ?? null)))
  return [
    column('int8', ({ atMs }) => atMs),
    parameters.add('bytea', bytesArray(rows.map(({ requestId }) => toRequestBytes(requestId)))),
    column('int4', ({ key }) => names.idOf(key)),
    column('int4', ({ tenant }) => names.idOrNull(tenant)),
    column('int4', ({ publication }) => names.idOf(publication)),
    column('int4', ({ endpoint }) => names.idOrNull(endpoint)),
    column('int4', ({ path }) => names.idOf(path)),
    column('int4', ({ status }) => status),
    column('int2', ({ stream }) => (stream ? 1 : 0)),
    column('int4', ({ outcome }) => names.idOf(outcome)),
    column('int4', ({ errorCode }) => names.idOrNull(errorCode)),
    ...USAGE.map(field => column('int8', row => row.usage?.[field])),
    column('int8', ({ amountNano }) => amountNano),
    column('int2', ({ flags }) => fromFlags(flags)),
    column('int8', ({ latencyMs }) => Math.round(latencyMs)),
    column('int8', ({ firstByteMs }) => (firstByteMs === undefined ? null : Math.round(firstByteMs))),
    column('int4', ({ attempts }) => attempts),
    text(({ reason }) => reason),
    text(({ failedAttempts }) => failedAttempts && JSON.stringify(failedAttempts)),
    column('int4', ({ node }) => names.idOrNull(node)),
  ].join(', ')
}

interface StoredRow {
  readonly id: string
  readonly end: Settlement
  readonly tokens: number
  readonly expiresAtMs: number
}

function storedRows(end: Settlement): StoredRow[] {
  const { stored } = end
  if (!stored) return []
  const { ids, tokens, outputTokens, expiresAtMs } = stored
  return ids.map((id, at) => ({ id, end, tokens: at === 0 ? tokens : outputTokens, expiresAtMs }))
}

/** What happens to an id that was given out before: see `STORE_RESPONSE` of SQLite. */
function storedInsert(parameters: Parameters, rows: readonly StoredRow[], nowMs: number): string {
  const text = (value: (row: StoredRow) => string | undefined) =>
    parameters.add('text', textArray(rows.map(row => value(row) ?? null)))
  const arrays = [
    text(({ id }) => id),
    text(({ end }) => end.key),
    text(({ end }) => end.tenant),
    text(({ end }) => end.publication),
    text(({ end }) => end.endpoint),
    parameters.add('int8', numberArray(rows.map(({ tokens }) => tokens))),
    parameters.add('int8', numberArray(rows.map(({ expiresAtMs }) => expiresAtMs))),
  ]
  const now = parameters.one(nowMs, 'int8')
  return `
    insert into stored_responses as s (${STORED_COLUMNS})
    select row.* from me, unnest(${arrays.join(', ')}) as row order by 1
    on conflict (id) do update set
      key_name = excluded.key_name, tenant = excluded.tenant, publication = excluded.publication,
      endpoint = excluded.endpoint, tokens = excluded.tokens,
      expires_at_ms = case when s.expires_at_ms <= ${now}
        or (s.tenant is not distinct from excluded.tenant
          and (s.tenant is not null or s.key_name = excluded.key_name))
        then excluded.expires_at_ms else 0 end
    where s.expires_at_ms <= ${now} or s.endpoint = excluded.endpoint`
}
