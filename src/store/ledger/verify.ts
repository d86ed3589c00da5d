import { setImmediate as others } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import type { Price } from '../../schema/ledger.ts'
import { priceFromText } from '../../schema/price.ts'
import type { Tables } from '../tables.ts'
import { toNano } from './columns.ts'
import { type Entry, Recount } from './recount.ts'
import { QuarterRecount } from './recount-quarters.ts'
import { SWEEP_AFTER_MS } from './recovery.ts'
import type { Finding, Verification, VerifyWatch } from './types.ts'

const PAGE_ROWS = 2_000
const MAX_FINDINGS = 100
/** A sweeper comes by once a minute at least. */
const SWEPT_WITHIN_MS = 60_000

/**
 * Re-adds every entry, oldest first, and compares what it comes to with the sums beside them; and holds the entries
 * against the invariants of a hold's life. A page of entries and one sum for each tenant and key are in memory, and
 * between two pages the event loop is free for others.
 */
export async function verifyLedger(
  db: Kysely<Tables>,
  nowMs: number,
  { onProgress, signal }: VerifyWatch = {},
): Promise<Verification> {
  const recount = new Recount(await selectPrices(db))
  const quarters = await QuarterRecount.begin(db)
  const { last } = await db
    .selectFrom('ledger')
    .select(eb => eb.fn.max('id').as('last'))
    .executeTakeFirstOrThrow()
  for (let after = 0; ; ) {
    const page = await selectEntries(db, after)
    for (const entry of page) recount.add(entry)
    const upTo = page.at(-1)?.id ?? after
    await quarters.add(after, upTo)
    after = upTo
    onProgress?.(after, last ?? 0)
    if (page.length < PAGE_ROWS) break
    await others()
    signal?.throwIfAborted()
  }
  const findings = [
    ...recount.findings,
    ...(await livedTwice(db)),
    ...(await compareWallets(db, recount)),
    ...(await compareKeys(db, recount)),
    ...(await compareHolds(db, recount, nowMs)),
    ...(await quarters.compare(MAX_FINDINGS, signal)),
  ]
  return {
    entries: recount.entries,
    openHolds: recount.openHolds.size,
    findings: findings.slice(0, MAX_FINDINGS),
  }
}

function selectEntries(db: Kysely<Tables>, after: number): Promise<Entry[]> {
  return db
    .selectFrom('ledger')
    .select(['id', 'kind', 'request_id', 'attempt', 'key_name', 'tenant', 'publication', 'endpoint'])
    .select(['input_tokens', 'cached_input_tokens', 'cache_write_tokens', 'output_tokens', 'search_units'])
    .select(['price_id', sql<string>`cast(amount_nano as text)`.as('nano')])
    .where('id', '>', after)
    .orderBy('id')
    .limit(PAGE_ROWS)
    .execute()
}

async function selectPrices(db: Kysely<Tables>): Promise<ReadonlyMap<number, Price>> {
  const rows = await db.selectFrom('ledger_prices').selectAll().execute()
  return new Map(rows.map(({ id, price }) => [id, priceFromText(price)]))
}

/** What the unique index forbids: looked for only where someone has taken it away. */
async function livedTwice(db: Kysely<Tables>): Promise<Finding[]> {
  const { rows: index } = await sql`
    select 1 from sqlite_master where type = 'index' and name = 'ledger_once' and tbl_name = 'ledger'
      and sql like 'create unique index%'`.execute(db)
  if (index.length > 0) return []
  const rows = await db
    .selectFrom('ledger')
    .select(eb => ['request_id', 'attempt', eb.fn.max('id').as('id')])
    .where('request_id', 'is not', null)
    .groupBy(['request_id', 'attempt'])
    .having(sql<boolean>`sum(kind = 'hold') <> 1 or sum(kind <> 'hold') > 1`)
    .limit(MAX_FINDINGS)
    .execute()
  return rows.map(({ id, request_id, attempt }) =>
    finding('ledger', `id ${id}`, `request ${request_id}, attempt ${attempt}, has not one hold and one end`),
  )
}

async function compareWallets(db: Kysely<Tables>, recount: Recount): Promise<Finding[]> {
  const rows = await db
    .selectFrom('wallets')
    .select(['tenant', text('balance_units').as('units'), text('balance_nano').as('nano')])
    .execute()
  const kept = new Map(rows.map(({ tenant, ...sum }) => [tenant, toNano(sum)]))
  const findings = compare('wallets', 'tenant', kept, recount.balances)
  const { wallet_version: version } = await db
    .selectFrom('ledger_head')
    .select('wallet_version')
    .executeTakeFirstOrThrow()
  if (version !== recount.walletVersion) {
    findings.push(
      finding(
        'wallets',
        'version',
        `is ${version}, but the last adjustment is entry ${recount.walletVersion}`,
      ),
    )
  }
  return findings
}

async function compareKeys(db: Kysely<Tables>, recount: Recount): Promise<Finding[]> {
  const rows = await db
    .selectFrom('key_totals')
    .select(['key_name', text('tokens').as('tokens')])
    .select([text('amount_units').as('units'), text('amount_nano').as('nano')])
    .execute()
  const amounts = new Map(rows.map(({ key_name, ...sum }) => [key_name, toNano(sum)]))
  const tokens = new Map(rows.map(row => [row.key_name, BigInt(row.tokens)]))
  return [
    ...compare('key_totals', 'key', amounts, recount.keyAmounts),
    ...compare('key_totals', 'tokens of key', tokens, recount.keyTokens),
  ]
}

async function compareHolds(db: Kysely<Tables>, recount: Recount, nowMs: number): Promise<Finding[]> {
  const findings: Finding[] = []
  const missing = new Map([...recount.openHolds.values()].map(hold => [hold.id, hold]))
  const rows = await db
    .selectFrom('open_holds')
    .leftJoin('ledger', 'ledger.id', 'entry_id')
    .select(['entry_id', 'request_id', 'attempt', 'deadline_ms'])
    .orderBy('entry_id')
    .execute()
  for (const { entry_id: id, request_id, attempt, deadline_ms } of rows) {
    const row = request_id === null ? `entry ${id}` : `request ${request_id}, attempt ${attempt}`
    if (!missing.delete(id))
      findings.push(finding('open_holds', row, 'is open, but by the entries it is not'))
    const overdueMs = nowMs - (deadline_ms ?? nowMs)
    if (overdueMs > SWEEP_AFTER_MS + SWEPT_WITHIN_MS) {
      findings.push(
        finding('open_holds', row, `is open ${Math.round(overdueMs / 1_000)} s after its deadline`),
      )
    }
  }
  for (const { id, request_id } of missing.values()) {
    findings.push(finding('open_holds', `request ${request_id}`, `is not there, but entry ${id} has no end`))
  }
  return findings
}

/** What is kept against what the entries come to; a sum that is not kept is 0. */
function compare(
  table: Finding['table'],
  what: string,
  kept: ReadonlyMap<string, bigint>,
  added: ReadonlyMap<string, bigint>,
): Finding[] {
  return [...new Set([...kept.keys(), ...added.keys()])]
    .filter(name => (kept.get(name) ?? 0n) !== (added.get(name) ?? 0n))
    .map(name =>
      finding(
        table,
        `${what} ${name}`,
        `is ${kept.get(name) ?? 0n}, but the entries come to ${added.get(name) ?? 0n}`,
      ),
    )
}

function text(column: string) {
  return sql<string>`cast(${sql.ref(column)} as text)`
}

function finding(table: Finding['table'], row: string, problem: string): Finding {
  return { table, row, problem }
}
