import { setImmediate as others } from 'node:timers/promises'
import type Database from 'better-sqlite3'
import { iso } from '../../../base/iso.ts'
import type { Price } from '../../../schema/ledger.ts'
import { priceFromText } from '../../../schema/price.ts'
import { readArchive } from '../archive/archive-file.ts'
import { entriesOf, selectNames } from '../archive/archived-entries.ts'
import { codeOf, fromRequestId, type NanoParts, requestIdOf, toNano, type Whole } from '../columns.ts'
import { SWEEP_AFTER_MS } from '../recovery.ts'
import type { Archive, Finding, Verification, VerifyWatch } from '../types.ts'
import { QUARTER_MS, type UsageSums } from '../usage-sums.ts'
import { compareDays } from './day-sums.ts'
import { adjustmentPages, entryPages } from './entries.ts'
import { PlaceSums, selectPlaces } from './place-sums.ts'
import { QuarterRecount } from './quarter-recount.ts'
import { type KeyUse, Recount } from './recount.ts'

const MAX_FINDINGS = 100
const SELECT_END_ID = 'select id from ledger where request = ? and attempt = ?'
/** The sweeper runs at least once a minute. */
const SWEPT_WITHIN_MS = 60_000

/** An archive, and what there is of its entries. */
export interface ArchiveToVerify {
  readonly archive: Pick<Archive, 'beforeMs' | 'lastId' | 'entries'>
  /** The recorded sums, by place. */
  readonly sums: Iterable<[place: string, sums: UsageSums]>
  /** The file, if its entries are to be added up; otherwise the recorded sums count. */
  readonly path: string | undefined
}

/**
 * Recomputes the sums of all entries, oldest first, and compares them with the stored sums; also checks charges against
 * their prices, and that no hold is open whose call has ended. Reads each row of the ledger once, and of the sums
 * twice: each quarter with its entries, and each day with its quarters. Keeps in memory a page of entries, the last
 * quarters of an hour and one sum per tenant and key, and yields to the event loop between two pages.
 *
 * Archived entries count by the sums of their archive; then the time before it is compared as one, not by quarters.
 * @param archives in the order of their entries.
 */
export async function verifyLedger(
  raw: Database.Database,
  nowMs: number,
  archives: readonly ArchiveToVerify[],
  { onProgress, signal }: Omit<VerifyWatch, 'files'> = {},
): Promise<Omit<Verification, 'unfoldedRows'>> {
  const carried = archives.filter(({ path }) => path === undefined).map(({ archive }) => archive)
  const closedBeforeMs = Math.max(...carried.map(({ beforeMs }) => beforeMs), Number.MIN_SAFE_INTEGER)
  const closed = new PlaceSums()
  const quarters = new QuarterRecount(raw, Math.floor(closedBeforeMs / QUARTER_MS))
  const names = selectNames(raw)
  const recount = new Recount(names, selectPrices(raw), { closed, quarters }, MAX_FINDINGS)
  const boundary = archives.at(-1)?.archive.lastId ?? 0
  const archived = total(carried.map(({ entries }) => entries))
  const last = raw.prepare<[], number | null>('select max(id) from ledger').pluck().get() ?? 0
  const findings: Finding[] = []
  const pause = async () => {
    onProgress?.(recount.entries, last - archived)
    await others()
    signal?.throwIfAborted()
  }

  const ids = new Map([...names].map(([id, name]) => [name, id]))
  for (const { archive, sums, path } of archives) {
    if (path === undefined) {
      recount.carry(sums)
      continue
    }
    const added = new PlaceSums()
    for await (const page of readArchive(path)) {
      recount.addArchived(entriesOf(page, ids), added)
      quarters.compareComplete()
      await pause()
    }
    findings.push(...added.compare('archives', `archive before ${iso(archive.beforeMs).slice(0, 7)}`, sums))
  }
  for (const page of adjustmentPages(raw, { after: 0, upTo: boundary })) {
    recount.addArchived(page)
    await pause()
  }
  findings.push(...checkArchived(archives, boundary, recount.adjustments))
  recount.continueAfter(boundary)
  for (const page of entryPages(raw, { after: boundary, upTo: last })) {
    recount.add(page)
    quarters.compareComplete()
    await pause()
  }
  for (const _ of quarters.compareRemaining()) {
    await others()
    signal?.throwIfAborted()
  }
  const ofQuarters = quarters.findings(MAX_FINDINGS)
  const ofDays: Finding[] = []
  // A wrong quarter would be found once more as its day.
  if (ofQuarters.length === 0) {
    for (const found of compareDays(raw, MAX_FINDINGS)) {
      ofDays.push(...found)
      await others()
      signal?.throwIfAborted()
    }
  }
  findings.push(
    ...recount.findings,
    ...findDuplicates(raw),
    ...compareWallets(raw, recount),
    ...compareKeys(raw, recount.keys),
    ...checkAdjustments(raw, recount.adjustments),
    ...checkHolds(raw, nowMs),
    ...checkShares(raw),
    ...(carried.length > 0 ? compareClosed(raw, closed, closedBeforeMs) : []),
    ...ofQuarters,
    ...ofDays,
  )
  return {
    entries: recount.entries,
    archived,
    openHolds: raw.prepare<[], number>('select count(*) from open_holds').pluck().get() ?? 0,
    findings: findings.slice(0, MAX_FINDINGS),
  }
}

/** Archives have all ids up to the last one of theirs, except for the adjustments, which stay in the ledger. */
function checkArchived(
  archives: readonly ArchiveToVerify[],
  boundary: number,
  adjustments: number,
): Finding[] {
  const has = total(archives.map(({ archive }) => archive.entries)) + adjustments
  if (has === boundary) return []
  return [finding('ledger', `ids up to ${boundary}`, `${has} of them are in archives or adjustments`)]
}

function compareClosed(raw: Database.Database, closed: PlaceSums, beforeMs: number): Finding[] {
  const rows = selectPlaces(raw, 'usage_quarters', 'quarter < ?', beforeMs / QUARTER_MS)
  return closed.compare('usage_quarters', `before ${iso(beforeMs).slice(0, 7)}`, rows)
}

function total(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0)
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
      `select ${requestIdOf('request')} as request_id, attempt, max(id) as id from ledger where request is not null
       group by request, attempt having count(*) > 1 limit ?`,
    )
    .all(MAX_FINDINGS)
  return rows.map(({ id, request_id, attempt }) =>
    finding('ledger', `id ${id}`, `request ${request_id}, attempt ${attempt}, has ended more than once`),
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

function checkAdjustments(raw: Database.Database, count: number): Finding[] {
  const rows = raw
    .prepare<[], { entry_id: number }>(
      `select entry_id from adjustments left join ledger on id = entry_id and ledger.tenant_id = adjustments.tenant_id
       where id is null or kind < ${codeOf('credit')} order by entry_id limit ${MAX_FINDINGS}`,
    )
    .all()
  const findings = rows.map(({ entry_id }) =>
    finding('adjustments', `entry ${entry_id}`, 'there is no such entry of its tenant'),
  )
  const has = raw.prepare<[], number>('select count(*) from adjustments').pluck().get()
  if (has !== count)
    findings.push(finding('adjustments', 'count', `is ${has}, but there are ${count} entries`))
  return findings
}

function checkHolds(raw: Database.Database, nowMs: number): Finding[] {
  const rows = raw
    .prepare<[], { request_id: string; attempt: number; deadline_ms: number }>(
      'select request_id, attempt, deadline_ms from open_holds order by id',
    )
    .all()
  const endOf = raw.prepare<[Buffer | string, number], number>(SELECT_END_ID).pluck()
  const opened = raw.prepare<[], number>('select open_holds from ledger_head').pluck().get()
  const isLost = opened !== rows.length
  const lost = isLost ? [finding('open_holds', 'count', `is ${rows.length}, but ${opened} are open`)] : []
  const found = rows.flatMap(({ request_id, attempt, deadline_ms }) => {
    const row = `request ${request_id}, attempt ${attempt}`
    const endId = endOf.get(fromRequestId(request_id), attempt)
    if (endId !== undefined) return finding('open_holds', row, `is open, but entry ${endId} has ended it`)
    const overdueMs = nowMs - deadline_ms
    if (overdueMs <= SWEEP_AFTER_MS + SWEPT_WITHIN_MS) return []
    return finding('open_holds', row, `is open ${Math.round(overdueMs / 1_000)} s after its deadline`)
  })
  return [...lost, ...found]
}

/** What is leased of a shared limit is what the gateways have of it. */
function checkShares(raw: Database.Database): Finding[] {
  const rows = raw
    .prepare<[], { owner: string; limit_name: string; leased: string; amount: string | null }>(
      `select scopes.owner, scopes.limit_name, leased, amount from scopes left join shares
       on shares.owner = scopes.owner and shares.limit_name = scopes.limit_name`,
    )
    .all()
  const leased = new Map<string, bigint>()
  const has = new Map<string, bigint>()
  for (const row of rows) {
    const scope = `${row.owner}, ${row.limit_name}`
    leased.set(scope, BigInt(row.leased))
    has.set(scope, (has.get(scope) ?? 0n) + BigInt(row.amount ?? 0))
  }
  return [...leased]
    .filter(([scope, sum]) => has.get(scope) !== sum)
    .map(([scope, sum]) =>
      finding('shares', scope, `${sum} is leased, but the shares of the gateways come to ${has.get(scope)}`),
    )
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
