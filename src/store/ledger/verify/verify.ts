import { setImmediate as others } from 'node:timers/promises'
import type Database from 'better-sqlite3'
import type { Price } from '../../../schema/ledger.ts'
import { priceFromText } from '../../../schema/price.ts'
import { type NanoParts, toNano, type Whole } from '../columns.ts'
import { SWEEP_AFTER_MS } from '../recovery.ts'
import type { Finding, Verification, VerifyWatch } from '../types.ts'
import { entryPages } from './entries.ts'
import { QuarterRecount } from './quarter-recount.ts'
import { type KeyUse, Recount } from './recount.ts'

const MAX_FINDINGS = 100
/** The sweeper runs at least once a minute. */
const SWEPT_WITHIN_MS = 60_000

/**
 * Recomputes the sums of all entries, oldest first, and compares them with the stored sums; also checks the entries
 * against the invariants of a hold. Reads each row of the ledger and of the sums once. Keeps in memory a page of
 * entries, the last quarters of an hour and one sum per tenant and key, and yields to the event loop between two pages.
 */
export async function verifyLedger(
  raw: Database.Database,
  nowMs: number,
  { onProgress, signal }: VerifyWatch = {},
): Promise<Verification> {
  const quarters = new QuarterRecount(raw)
  const recount = new Recount(selectPrices(raw), quarters, MAX_FINDINGS)
  for (const page of entryPages(raw)) {
    recount.add(page)
    quarters.compareComplete()
    onProgress?.(page.upTo, page.last)
    await others()
    signal?.throwIfAborted()
  }
  for (const _ of quarters.compareRemaining()) {
    await others()
    signal?.throwIfAborted()
  }
  const findings = [
    ...recount.findings,
    ...findDuplicates(raw),
    ...compareWallets(raw, recount),
    ...compareKeys(raw, recount.keys),
    ...compareHolds(raw, recount, nowMs),
    ...quarters.findings(MAX_FINDINGS),
  ]
  return {
    entries: recount.entries,
    openHolds: recount.openHolds.all().length,
    findings: findings.slice(0, MAX_FINDINGS),
  }
}

function selectPrices(raw: Database.Database): ReadonlyMap<number, Price> {
  const rows = raw.prepare<[], { id: number; price: string }>('select id, price from ledger_prices').all()
  return new Map(rows.map(({ id, price }) => [id, priceFromText(price)]))
}

/** The unique index forbids it: checked only if the index was removed. */
function findDuplicates(raw: Database.Database): Finding[] {
  const index = raw
    .prepare(
      `select 1 from sqlite_schema where type = 'index' and name = 'ledger_once' and tbl_name = 'ledger'
       and sql like 'create unique index%'`,
    )
    .get()
  if (index !== undefined) return []
  const rows = raw
    .prepare<[number], { id: number; request_id: string; attempt: number }>(
      `select request_id, attempt, max(id) as id from ledger where request_id is not null
       group by request_id, attempt having sum(kind = 'hold') <> 1 or sum(kind <> 'hold') > 1 limit ?`,
    )
    .all(MAX_FINDINGS)
  return rows.map(({ id, request_id, attempt }) =>
    finding(
      'ledger',
      `id ${id}`,
      `request ${request_id}, attempt ${attempt}, does not have exactly one hold and one end`,
    ),
  )
}

function compareWallets(raw: Database.Database, recount: Recount): Finding[] {
  const rows = raw
    .prepare<[], { tenant: string } & NanoParts>(
      `select tenant, cast(balance_units as text) as units, cast(balance_nano as text) as nano from wallets`,
    )
    .all()
  const kept = new Map(rows.map(({ tenant, ...sum }) => [tenant, toNano(sum)]))
  const added = new Map([...recount.balances].map(([tenant, { nano }]) => [tenant, nano]))
  const findings = compare('wallets', 'tenant', kept, added)
  const version = raw.prepare<[], number>('select wallet_version from ledger_head').pluck().get()
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

function compareKeys(raw: Database.Database, keys: ReadonlyMap<string, KeyUse>): Finding[] {
  const rows = raw
    .prepare<[], { key_name: string; tokens: string } & NanoParts>(
      `select key_name, cast(tokens as text) as tokens, cast(amount_units as text) as units,
         cast(amount_nano as text) as nano from key_totals`,
    )
    .all()
  const amounts = new Map(rows.map(({ key_name, ...sum }) => [key_name, toNano(sum)]))
  const tokens = new Map(rows.map(row => [row.key_name, BigInt(row.tokens)]))
  const added = [...keys]
  return [
    ...compare('key_totals', 'key', amounts, new Map(added.map(([key, use]) => [key, use.amountNano]))),
    ...compare('key_totals', 'tokens of key', tokens, new Map(added.map(([key, use]) => [key, use.tokens]))),
  ]
}

function compareHolds(raw: Database.Database, recount: Recount, nowMs: number): Finding[] {
  const findings: Finding[] = []
  const missing = new Map(recount.openHolds.all().map(({ id, request }) => [id, request]))
  const rows = raw
    .prepare<
      [],
      { id: number; request_id: string | null; attempt: number | null; deadline_ms: number | null }
    >(
      `select entry_id as id, request_id, attempt, deadline_ms
       from open_holds left join ledger on ledger.id = entry_id order by entry_id`,
    )
    .all()
  for (const { id, request_id, attempt, deadline_ms } of rows) {
    const row = request_id === null ? `entry ${id}` : `request ${request_id}, attempt ${attempt}`
    if (!missing.delete(id))
      findings.push(finding('open_holds', row, 'is open, but not according to the entries'))
    const overdueMs = nowMs - (deadline_ms ?? nowMs)
    if (overdueMs > SWEEP_AFTER_MS + SWEPT_WITHIN_MS) {
      findings.push(
        finding('open_holds', row, `is open ${Math.round(overdueMs / 1_000)} s after its deadline`),
      )
    }
  }
  for (const [id, request] of missing) {
    const [requestId] = request.split('\n')
    findings.push(finding('open_holds', `request ${requestId}`, `is missing, but entry ${id} has no end`))
  }
  return findings
}

/** Compares stored sums with recomputed sums; a missing sum counts as 0. */
function compare(
  table: Finding['table'],
  what: string,
  kept: ReadonlyMap<string, bigint>,
  added: ReadonlyMap<string, Whole>,
): Finding[] {
  return [...new Set([...kept.keys(), ...added.keys()])]
    .map(name => ({ name, has: kept.get(name) ?? 0n, sum: BigInt(added.get(name) ?? 0) }))
    .filter(({ has, sum }) => has !== sum)
    .map(({ name, has, sum }) =>
      finding(table, `${what} ${name}`, `is ${has}, but the entries come to ${sum}`),
    )
}

function finding(table: Finding['table'], row: string, problem: string): Finding {
  return { table, row, problem }
}
