import type { Hold } from '../../../schema/ledger.ts'
import type { Database } from './lane-connection.ts'
import { requestIdOf } from './request-id.ts'

const nameOf = (column: string) => `(select name from ledger_names where ledger_names.id = h.${column})`

/** The holds of an instance that have no end, oldest first. */
export async function selectHolds(db: Database, serial: number, most: number): Promise<readonly Hold[]> {
  const { rows } = await db.query(
    `select ${requestIdOf('request')}, attempt, ${nameOf('key_id')}, ${nameOf('tenant_id')}, ${nameOf('publication_id')},
      ${nameOf('endpoint_id')}, opened_at_ms, deadline_ms, amount_nano::text, tokens, input_tokens, input_amount_nano::text,
      duration_ms, characters, images, ${nameOf('path_id')}, stream, (select price from ledger_prices where id = price_id)
    from open_holds h where instance = $1 order by h.id limit $2`,
    [serial, most],
  )
  return rows.map(toHold)
}

type HoldRow = readonly [
  requestId: string,
  attempt: number,
  key: string,
  tenant: string | null,
  publication: string,
  endpoint: string,
  openedAtMs: number,
  deadlineMs: number,
  amountNano: string,
  tokens: number,
  inputTokens: number,
  inputAmountNano: string,
  durationMs: number | null,
  characters: number | null,
  images: number | null,
  path: string | null,
  stream: number | null,
  price: string | null,
]

function toHold(row: readonly unknown[]): Hold {
  const [
    requestId,
    attempt,
    key,
    tenant,
    publication,
    endpoint,
    openedAtMs,
    deadlineMs,
    amountNano,
    tokens,
    ...more
  ] = row as HoldRow
  const [inputTokens, inputAmountNano, durationMs, characters, images, path, stream, price] = more
  return {
    requestId,
    attempt,
    key,
    ...(tenant !== null && { tenant }),
    publication,
    endpoint,
    openedAtMs,
    deadlineMs,
    amountNano: BigInt(amountNano),
    tokens,
    inputTokens,
    inputAmountNano: BigInt(inputAmountNano),
    ...(durationMs !== null && {
      inputUnits: { durationMs, characters: characters ?? 0, images: images ?? 0 },
    }),
    ...(path !== null && { call: { path, stream: stream === 1 } }),
    ...(price !== null && { price }),
  }
}
