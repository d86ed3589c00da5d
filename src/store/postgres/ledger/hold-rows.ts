import type { Hold } from '../../../schema/ledger.ts'
import { bytesArray, numberArray } from './array-literals.ts'
import type { Database } from './lane-connection.ts'
import type { Interned } from './names.ts'
import type { Partitions } from './partitions.ts'
import { toRequestBytes } from './request-id.ts'

/** What rows refer to: each must be known before the row is inserted. */
export interface References {
  readonly names: Interned
  readonly prices: Interned
  readonly partitions: Partitions
}

const COLUMNS = `request, attempt, key_id, tenant_id, publication_id, endpoint_id, opened_at_ms, deadline_ms,
    amount_nano, tokens, input_tokens, input_amount_nano, duration_ms, characters, images, path_id, stream, price_id`
const ARRAYS = `$2::bytea[], $3::int2[], $4::int4[], $5::int4[], $6::int4[], $7::int4[], $8::int8[], $9::int8[],
    $10::int8[], $11::int8[], $12::int8[], $13::int8[], $14::int8[], $15::int8[], $16::int8[], $17::int4[], $18::int2[],
    $19::int4[]`

/**
 * The fence: an instance whose shares may have been given to others writes no hold. The lock makes who fences it wait for holds under
 * way; that its own lease is renewed meanwhile does not.
 */
const FENCE = `
  select serial from instances where id = $1 and is_fenced = 0
    and expires_at_ms > extract(epoch from clock_timestamp()) * 1000 for key share`
/** Holds that have been acknowledged already. */
const NO_FENCE = `select serial from instances where id = $1`

const insert = (fence: string) => `
  with fence as materialized (${fence}),
  setting as materialized (select set_config('synchronous_commit', 'off', true)),
  row as (select * from unnest(${ARRAYS}) as q (${COLUMNS})),
  added as (
    insert into holds (instance, ${COLUMNS}) select fence.serial, row.* from row, fence, setting
    on conflict do nothing returning id, request, attempt)
  select (select count(*) from fence), max(id), count(*),
    case when count(*) < cardinality($2::bytea[]) then json_agg(json_build_array(encode(request, 'hex'), attempt)) end
  from added`

const INSERT = insert(FENCE)
const INSERT_AGAIN = insert(NO_FENCE)
/** What a statement has inserted. */
export interface InsertedHolds {
  /** False if the instance is fenced, or its lease is over. */
  readonly isAlive: boolean
  /** The largest id; undefined if none was inserted. */
  readonly lastId: number | undefined
  /** Undefined: all. */
  readonly keys: ReadonlySet<string> | undefined
}

export function keyOf(request: Buffer, attempt: number): string {
  return `${request.toString('hex')} ${attempt}`
}

export async function loadReferences(
  db: Database,
  { names, prices, partitions }: References,
  holds: readonly Hold[],
): Promise<void> {
  await names.load(
    db,
    holds.flatMap(({ key, tenant, publication, endpoint, call }) => [
      key,
      tenant,
      publication,
      endpoint,
      call?.path,
    ]),
  )
  await prices.load(
    db,
    holds.map(({ price }) => price),
  )
  await partitions.ensure(
    db,
    'holds',
    holds.map(({ openedAtMs }) => openedAtMs),
  )
}

/** @param isAgain They were acknowledged before: no fence counts. */
export async function insertHolds(
  db: Database,
  instance: string,
  references: References,
  holds: readonly Hold[],
  isAgain = false,
): Promise<InsertedHolds> {
  const { rows } = await db.query(isAgain ? INSERT_AGAIN : INSERT, [instance, ...arraysOf(holds, references)])
  const [alive, lastId, , keys] = rows[0] as [number, number | null, number, string | null]
  return {
    isAlive: alive > 0,
    lastId: lastId ?? undefined,
    keys: keys === null && lastId !== null ? undefined : new Set(parseKeys(keys)),
  }
}

/** The keys of rows that a statement has written. */
export function parseKeys(json: string | null): string[] {
  const keys = JSON.parse(json ?? '[]') as [string, number][]
  return keys.map(([request, attempt]) => `${request} ${attempt}`)
}

function arraysOf(holds: readonly Hold[], { names, prices }: References): string[] {
  const numbers = (value: (hold: Hold) => number | bigint | null | undefined) =>
    numberArray(holds.map(hold => value(hold) ?? null))
  return [
    bytesArray(holds.map(({ requestId }) => toRequestBytes(requestId))),
    numbers(({ attempt }) => attempt),
    numbers(({ key }) => names.idOf(key)),
    numbers(({ tenant }) => names.idOrNull(tenant)),
    numbers(({ publication }) => names.idOf(publication)),
    numbers(({ endpoint }) => names.idOf(endpoint)),
    numbers(({ openedAtMs }) => openedAtMs),
    numbers(({ deadlineMs }) => deadlineMs),
    numbers(({ amountNano }) => amountNano),
    numbers(({ tokens }) => tokens),
    numbers(({ inputTokens }) => inputTokens),
    numbers(({ inputAmountNano }) => inputAmountNano),
    numbers(({ inputUnits }) => inputUnits?.durationMs),
    numbers(({ inputUnits }) => inputUnits?.characters),
    numbers(({ inputUnits }) => inputUnits?.images),
    numbers(({ call }) => names.idOrNull(call?.path)),
    numbers(({ call }) => (call?.stream ? 1 : 0)),
    numbers(({ price }) => prices.idOrNull(price)),
  ]
}
