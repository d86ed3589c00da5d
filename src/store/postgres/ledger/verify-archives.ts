import { iso } from '../../../base/iso.ts'
import type { ArchivedEntry } from '../../../schema/archive.ts'
import { cost } from '../../../schema/cost.ts'
import { type Price, type Usage, usageOf } from '../../../schema/ledger.ts'
import { priceFromText } from '../../../schema/price.ts'
import { type PlainSql, prepare } from '../../engine.ts'
import { readArchive } from '../../ledger/archive/archive-file.ts'
import { entriesOf } from '../../ledger/archive/archived-entries.ts'
import type { Archive, Finding } from '../../ledger/types.ts'
import { DAY_QUARTERS, QUARTER_MS, type UsageSums } from '../../ledger/usage-sums.ts'
import { amountOf, type Entry } from '../../ledger/verify/entries.ts'
import { PlaceSums } from '../../ledger/verify/place-sums.ts'
import { PLACE, type PlaceRow, SUMMED, selectArchivedSums, toPlace } from './archives.ts'
import { USAGE_SUMS } from './fold.ts'

const nameOf = (column: string) => `(select name from ledger_names where ledger_names.id = ${column})`

/** Sums of `usage_quarters` in a span of quarters, by place. */
const STORED = `
  select ${PLACE} as place, ${SUMMED} from usage_quarters where quarter >= ? and quarter < ?
  group by key_name, tenant, publication, endpoint`
/** The same by quarter; a place begins with its quarter. */
const STORED_QUARTERS = `
  select quarter || e'\\n' || ${PLACE} as place, ${SUMMED} from usage_quarters where quarter >= ? and quarter < ?
  group by quarter, key_name, tenant, publication, endpoint`

/** Charges of the time of archives that are in the ledger: they were written late. */
const late = (quarter: string) => `
  select ${quarter} ${PLACE} as place, ${SUMMED} from (
    select at_ms / ${QUARTER_MS} as quarter, ${nameOf('key_id')} as key_name,
      coalesce(${nameOf('tenant_id')}, '') as tenant, ${nameOf('publication_id')} as publication,
      ${nameOf('endpoint_id')} as endpoint, s.*
    from (
      select key_id, at_ms / ${QUARTER_MS} * ${QUARTER_MS} as at_ms, tenant_id, publication_id, endpoint_id,
        ${USAGE_SUMS.map(([column, expression]) => `${expression} as ${column}`).join(', ')}
      from ledger l left join instances i on i.serial = l.instance
      where l.kind = 0 and (i.id is null or l.id <= i.folded_end) and l.at_ms >= ? and l.at_ms < ?
      group by 1, 2, 3, 4, 5) s) q
  group by ${quarter === '' ? '' : 'quarter, '}key_name, tenant, publication, endpoint`
const LATE = late('')
const LATE_QUARTERS = late(`quarter || e'\\n' ||`)

/** What the archives come to. */
export interface VerifiedArchives {
  /** Those that were read from files, and those of which the recorded sums count. */
  readonly entries: number
  readonly carried: number
  readonly findings: readonly Finding[]
}

/**
 * Compares the files with the recorded sums of their archives, and the usage before the newest archive with archives and ledger: with
 * the files by quarters of an hour, a day at a time; before the newest archive without its file as one.
 * @param files paths by the ids of archives.
 * @throws {CommandError} archive_damaged
 */
export async function verifyArchives(
  raw: PlainSql,
  archives: readonly Archive[],
  files: ReadonlyMap<number, string>,
  signal: AbortSignal | undefined,
): Promise<VerifiedArchives> {
  if (archives.length === 0) return { entries: 0, carried: 0, findings: [] }
  const findings: Finding[] = []
  const carried = archives.filter(({ id }) => !files.has(id))
  const closedQuarter = quarterBefore(carried)
  const closed = new PlaceSums()
  for (const { id } of carried)
    for (const [place, sums] of await selectArchivedSums(raw, id)) closed.plus(place, sums)

  const names = await prepare<[], { id: number; name: string }>(
    raw,
    'select id, name from ledger_names',
  ).all()
  const ids = new Map(names.map(({ id, name }) => [name, id]))
  const prices = await selectPrices(raw)
  const readers = archives.flatMap(archive => {
    const path = files.get(archive.id)
    return path === undefined
      ? []
      : [{ archive, added: new PlaceSums(), entries: new ArchiveEntries(path, ids) }]
  })
  let count = 0
  /** Adds the entries of all files up to a quarter. */
  const addUpTo = async (quarter: number, add: (place: string, entry: Entry) => void) => {
    for (const { added, entries } of readers) {
      for await (const { archived, entry } of entries.before(quarter)) {
        count += 1
        added.addArchived([archived], [entry])
        if (archived.kind !== 'settle') continue
        const problem = chargeOf(prices, entry)
        if (problem !== undefined)
          findings.push({ table: 'archives', row: `id ${entry[0]} of a file`, problem })
        const { endpoint, key, model, tenant } = archived
        add([endpoint, key, model, ...(tenant === undefined ? [] : [tenant])].join('\n'), entry)
      }
    }
    signal?.throwIfAborted()
  }

  if (closedQuarter > 0) {
    await addUpTo(closedQuarter, (place, entry) => closed.add(place, entry, amountOf(entry)))
    for (const [place, sums] of await rowsOf(raw, LATE, 0, closedQuarter * QUARTER_MS))
      closed.plus(place, sums)
    const span = `before ${iso(closedQuarter * QUARTER_MS).slice(0, 7)}`
    findings.push(...closed.compare('usage_quarters', span, await rowsOf(raw, STORED, 0, closedQuarter)))
  }
  const endQuarter = quarterBefore(archives)
  for (let from = await nextQuarter(raw, closedQuarter); from < endQuarter; ) {
    const to = Math.min(endQuarter, from + DAY_QUARTERS)
    const sums = new PlaceSums()
    await addUpTo(to, (place, entry) => sums.add(`${entry[2]}\n${place}`, entry, amountOf(entry)))
    const rows = await rowsOf(raw, LATE_QUARTERS, from * QUARTER_MS, to * QUARTER_MS)
    for (const [place, late] of rows) sums.plus(place, late)
    findings.push(...compareQuarters(sums, await rowsOf(raw, STORED_QUARTERS, from, to)))
    from = to
  }
  // What a file has after its time, which no file of this store does.
  await addUpTo(Number.POSITIVE_INFINITY, () => undefined)
  for (const { archive, added } of readers) {
    const span = `archive before ${iso(archive.beforeMs).slice(0, 7)}`
    findings.push(...added.compare('archives', span, await selectArchivedSums(raw, archive.id)))
  }
  return {
    entries: count,
    carried: carried.reduce((sum, { entries }) => sum + entries, 0),
    findings,
  }
}

/** The first quarter after all of these archives; 0 without any. */
function quarterBefore(archives: readonly Archive[]): number {
  return Math.max(0, ...archives.map(({ beforeMs }) => beforeMs)) / QUARTER_MS
}

/** The first quarter with usage: before it there is nothing to compare, unless a file has it. */
async function nextQuarter(raw: PlainSql, from: number): Promise<number> {
  const row = await prepare<[number, number], { first: number | null }>(
    raw,
    `select least((select min(quarter) from usage_quarters where quarter >= ?),
      (select min(opened_at_ms) / ${QUARTER_MS} from ledger where at_ms >= ? and kind = 0)) as first`,
  ).get(from, from * QUARTER_MS)
  return Math.max(from, row?.first ?? Number.MAX_SAFE_INTEGER)
}

async function rowsOf(
  raw: PlainSql,
  sql: string,
  from: number,
  to: number,
): Promise<[place: string, sums: UsageSums][]> {
  return (await prepare<[number, number], PlaceRow>(raw, sql).all(from, to)).map(toPlace)
}

/** @param sums and rows: places that begin with their quarters. */
function compareQuarters(sums: PlaceSums, rows: readonly [string, UsageSums][]): Finding[] {
  const quarters = new Map<string, { readonly added: PlaceSums; readonly stored: [string, UsageSums][] }>()
  const at = (place: string) => {
    const end = place.indexOf('\n')
    const quarter = place.slice(0, end)
    const both = quarters.get(quarter) ?? { added: new PlaceSums(), stored: [] }
    quarters.set(quarter, both)
    return { ...both, place: place.slice(end + 1) }
  }
  for (const [text, sum] of sums) {
    const { added, place } = at(text)
    added.plus(place, sum)
  }
  for (const [text, sum] of rows) {
    const { stored, place } = at(text)
    stored.push([place, sum])
  }
  return [...quarters].flatMap(([quarter, { added, stored }]) =>
    added.compare('usage_quarters', `quarter ${iso(Number(quarter) * QUARTER_MS).slice(0, 16)}Z`, stored),
  )
}

/** The entries of a file, which are in the order of time, a part at a time. */
class ArchiveEntries {
  readonly #pages: AsyncGenerator<readonly ArchivedEntry[], void>
  readonly #ids: ReadonlyMap<string, number>
  #page: readonly ArchivedEntry[] = []
  #entries: readonly Entry[] = []
  #at = 0
  #isOver = false

  constructor(path: string, ids: ReadonlyMap<string, number>) {
    this.#pages = readArchive(path)
    this.#ids = ids
  }

  async *before(quarter: number): AsyncGenerator<{ archived: ArchivedEntry; entry: Entry }, void> {
    while (!this.#isOver) {
      for (; this.#at < this.#page.length; this.#at++) {
        const entry = this.#entries[this.#at] as Entry
        if (entry[2] >= quarter) return
        yield { archived: this.#page[this.#at] as ArchivedEntry, entry }
      }
      const next = await this.#pages.next()
      this.#isOver = next.done === true
      this.#page = next.done ? [] : next.value
      this.#entries = entriesOf(this.#page, this.#ids)
      this.#at = 0
    }
  }
}

export async function selectPrices(raw: PlainSql): Promise<ReadonlyMap<number, Price>> {
  const rows = await prepare<[], { id: number; price: string }>(
    raw,
    'select id, price from ledger_prices',
  ).all()
  return new Map(rows.map(({ id, price }) => [id, priceFromText(price)]))
}

/** Undefined if a charge is its price times its usage (spec/money.md §5, invariant 3). */
export function chargeProblem(
  prices: ReadonlyMap<number, Price>,
  priceId: number,
  usage: Usage,
  billed: string,
): string | undefined {
  const price = prices.get(priceId)
  if (!price) return `was billed by price ${priceId}, which is not there`
  const computedNano = cost(price, usage)
  if (computedNano === BigInt(billed)) return undefined
  return `was billed ${billed}, but its price and usage come to ${computedNano}`
}

function chargeOf(prices: ReadonlyMap<number, Price>, entry: Entry): string | undefined {
  const [, , , , , , , , , priceId, input, cached, written, output, units, ms, characters, images] = entry
  if (priceId === null) return undefined
  const usage = usageOf({
    inputTokens: input ?? 0,
    cachedInputTokens: cached ?? 0,
    cacheWriteTokens: written ?? 0,
    outputTokens: output ?? 0,
    searchUnits: units ?? 0,
    durationMs: ms ?? 0,
    characters: characters ?? 0,
    images: images ?? 0,
  })
  return chargeProblem(prices, priceId, usage, String(amountOf(entry)))
}
