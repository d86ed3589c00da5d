import { KINDS, nameOf, requestIdOf, toFlags } from '../../src/store/ledger/columns.ts'
import { requestIdOf as postgresRequestIdOf } from '../../src/store/postgres/ledger/request-id.ts'
import { isPostgresUrl } from '../../src/store/url.ts'
import { selectAtOnce } from '../support/past-the-store.ts'

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

/** What is held for the input of a body, and what it is billed as where no usage is reported. */
const INPUT_BOUND = Math.ceil(LENGTH / 3)
export const INPUT_ESTIMATE = Math.ceil(LENGTH / 4)
/** Embeddings and rerank hold nothing for an answer: of their holds the number is not known. */
const TEXTLESS = INPUT_BOUND

/** The end of a call. */
export interface LedgerRow {
  readonly kind: 'settle' | 'release'
  readonly amountNano: bigint
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
  readonly publication: string
  readonly ends: readonly LedgerRow[]
  /** Absent where its hold does not tell. */
  readonly number: number | undefined
}

const ENDS = `
  select kind, ${requestIdOf('request')} as requestId, ${nameOf('publication_id')} as publication, held_tokens as tokens,
    cast(amount_nano as text) as amount, input_tokens as input, cached_input_tokens as cached,
    cache_write_tokens as written, output_tokens as output, search_units as units, flags, ${nameOf('reason_id')} as reason
  from ledger where request is not null order by id`
const OPEN = 'select request_id as requestId, publication, tokens from open_holds'

const POSTGRES_NAME = (column: string) => `(select name from ledger_names where ledger_names.id = ${column})`
const POSTGRES_ENDS = `
  select kind, ${postgresRequestIdOf('request')} as "requestId", ${POSTGRES_NAME('publication_id')} as publication,
    held_tokens::int as tokens, amount_nano::text as amount, input_tokens::int as input, cached_input_tokens::int as cached,
    cache_write_tokens::int as written, output_tokens::int as output, search_units::int as units, flags,
    ${POSTGRES_NAME('reason_id')} as reason
  from ledger where request is not null order by id`
const POSTGRES_OPEN = `
  select ${postgresRequestIdOf('request')} as "requestId", ${POSTGRES_NAME('publication_id')} as publication, tokens::int
  from open_holds`

interface HeldRow {
  readonly requestId: string
  readonly publication: string
  readonly tokens: number
}
type EndRow = HeldRow &
  Omit<LedgerRow, 'kind' | 'amountNano' | 'flags'> & { kind: number; amount: string; flags: number }

/**
 * Everything that the ledger says of requests, by request id; read in one moment, as another process would.
 * @param at the URL of the store, or the path of its file
 */
export async function readBooks(at: string): Promise<{ booked: ReadonlyMap<string, Booked>; open: number }> {
  const queries = isPostgresUrl(at) ? [POSTGRES_ENDS, POSTGRES_OPEN] : [ENDS, OPEN]
  const [ended, open] = (await selectAtOnce(at, ...queries)) as [EndRow[], HeldRow[]]
  const booked = new Map<string, Booked>()
  for (const { requestId, publication, tokens, kind, amount, flags, ...rest } of ended) {
    if (booked.has(requestId)) throw new Error(`${requestId} ends twice`)
    const end = {
      ...rest,
      kind: KINDS[kind] as LedgerRow['kind'],
      amountNano: BigInt(amount),
      flags: toFlags(flags).join(),
    }
    booked.set(requestId, { publication, ends: [end], number: numberOf(tokens) })
  }
  for (const { requestId, publication, tokens } of open) {
    if (booked.has(requestId)) throw new Error(`${requestId} is held twice`)
    booked.set(requestId, { publication, ends: [], number: numberOf(tokens) })
  }
  return { booked, open: open.length }
}

function numberOf(tokens: number): number | undefined {
  return tokens === TEXTLESS ? undefined : tokens - INPUT_BOUND - FIRST
}
