import Database from 'better-sqlite3'

/**
 * How a request can be found again wherever it has been: its number stands in `max_tokens`, and so in the tokens of its
 * hold, since all bodies of a kind have one length.
 */
const FIRST = 1_000_000

export interface Numbered {
  readonly path: string
  readonly model: string
  readonly stream?: boolean
  /** What the upstream is to do; it reads it from the body. */
  readonly plan?: string
}

const LENGTH = 300

export function numberedBody(number: number, { model, stream = false, plan = '' }: Numbered): string {
  const body = JSON.stringify({ model, stream, max_tokens: FIRST + number, user: plan })
  if (body.length > LENGTH) throw new Error(`the plan is too long: ${plan}`)
  return body.padEnd(LENGTH)
}

/** The number in a body, as the upstream sees it. */
export function numberIn(body: { readonly max_tokens: number }): number {
  return body.max_tokens - FIRST
}

/** What is held for the input of a body, and what it is billed as where nobody reports it. */
const INPUT_BOUND = Math.ceil(LENGTH / 3)
export const INPUT_ESTIMATE = Math.ceil(LENGTH / 4)
/** Embeddings and rerank hold nothing for an answer: of their holds the number is not known. */
const TEXTLESS = INPUT_BOUND

export interface LedgerRow {
  readonly kind: 'hold' | 'settle' | 'release'
  readonly requestId: string
  readonly tenant: string | null
  readonly publication: string
  readonly amountNano: bigint
  readonly tokens: number | null
  readonly input: number
  readonly cached: number
  readonly written: number
  readonly output: number
  readonly units: number
  readonly flags: string
  readonly reason: string | null
}

/** One request as the ledger has it. */
export interface Booked {
  readonly hold: LedgerRow
  readonly ends: readonly LedgerRow[]
  /** Absent where its hold does not tell. */
  readonly number: number | undefined
}

/** Everything that the ledger says of requests, by request id; read in one moment, as another process would. */
export function readBooks(path: string): { booked: ReadonlyMap<string, Booked>; open: number } {
  const raw = new Database(path, { readonly: true })
  try {
    const rows = raw
      .prepare(
        `select kind, request_id as requestId, tenant, publication, cast(amount_nano as text) as amount, tokens,
           input_tokens as input, cached_input_tokens as cached, cache_write_tokens as written,
           output_tokens as output, search_units as units, flags, reason
         from ledger where request_id is not null order by id`,
      )
      .all() as (LedgerRow & { readonly amount: string })[]
    const booked = new Map<string, Booked & { ends: LedgerRow[] }>()
    for (const { amount, ...rest } of rows) {
      const row = { ...rest, amountNano: BigInt(amount) }
      if (row.kind === 'hold') {
        if (booked.has(row.requestId)) throw new Error(`${row.requestId} is held twice`)
        const tokens = row.tokens ?? 0
        const number = tokens === TEXTLESS ? undefined : tokens - INPUT_BOUND - FIRST
        booked.set(row.requestId, { hold: row, ends: [], number })
      } else {
        const request = booked.get(row.requestId)
        if (!request) throw new Error(`${row.requestId} ends without a hold`)
        request.ends.push(row)
      }
    }
    const open = raw.prepare('select count(*) from open_holds').pluck().get() as number
    return { booked, open }
  } finally {
    raw.close()
  }
}
