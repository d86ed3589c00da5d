import { type Usage, usageOf } from '../../../schema/ledger.ts'
import { type PlainSql, prepare } from '../../engine.ts'
import { filesOf } from '../../ledger/archive/archives.ts'
import { codeOf } from '../../ledger/columns.ts'
import { SWEEP_AFTER_MS } from '../../ledger/recovery.ts'
import type { Finding, Verification, VerifyWatch } from '../../ledger/types.ts'
import { DAY_QUARTERS, QUARTER_MS } from '../../ledger/usage-sums.ts'
import { selectArchives } from './archives.ts'
import { USAGE_SUMS } from './fold.ts'
import { LOCK_LEDGER } from './partitions.ts'
import { requestIdOf } from './request-id.ts'
import { chargeProblem, selectPrices, verifyArchives } from './verify-archives.ts'

const MAX_FINDINGS = 100
const PAGE_ROWS = 5_000
/** The sweeper runs at least once a minute. */
const SWEPT_WITHIN_MS = 60_000
const DEBIT = codeOf('debit')

/** What the folds have added up: all but the last moment of the gateways that run. */
const FOLDED = `ledger l left join instances i on i.serial = l.instance
  where l.kind = 0 and (i.id is null or l.id <= i.folded_end)`
const nameOf = (column: string) => `(select name from ledger_names where ledger_names.id = ${column})`

/**
 * Rows of a table of sums that differ from what the entries come to, or that one of both lacks.
 * @param table may be a query.
 */
function differences(table: string, key: string, added: string, sums: readonly string[]): string {
  // Two parts of an amount may be carried over differently.
  const value = (side: string, column: string) => `coalesce(${side}.${column}, 0)`
  const amount = (side: string) =>
    `(${value(side, 'amount_units')}::numeric * 1000000000 + ${value(side, 'amount_nano')})`
  const columns = sums.filter(column => !column.startsWith('amount_'))
  return `
    with added as (${added})
    select concat_ws(', ', ${key}) as row, ${amount('kept')}::text as has, ${amount('added')}::text as sum
    from ${table} kept full join added using (${key})
    where ${[
      `${amount('kept')} <> ${amount('added')}`,
      ...columns.map(column => `${value('kept', column)} <> ${value('added', column)}`),
    ].join(' or ')}
    order by 1 limit ${MAX_FINDINGS}`
}

/** From a quarter on: of the time before, entries are in archives. */
const quartersFrom = (quarter: number) =>
  differences(
    `(select * from usage_quarters where quarter >= ${quarter})`,
    'key_name, quarter, tenant, publication, endpoint',
    `select ${nameOf('key_id')} as key_name, at_ms / ${QUARTER_MS} as quarter,
       coalesce(${nameOf('tenant_id')}, '') as tenant, ${nameOf('publication_id')} as publication,
       ${nameOf('endpoint_id')} as endpoint, s.*
     from (
       select key_id, at_ms / ${QUARTER_MS} * ${QUARTER_MS} as at_ms, tenant_id, publication_id, endpoint_id,
         ${USAGE_SUMS.map(([column, expression]) => `${expression} as ${column}`).join(', ')}
       from ${FOLDED} and l.at_ms >= ${quarter * QUARTER_MS} group by 1, 2, 3, 4, 5) s`,
    USAGE_SUMS.map(([column]) => column),
  )
const daysOf = (table: Finding['table'], place: string) =>
  differences(
    table,
    place,
    `select ${place}, ${USAGE_SUMS.map(([column]) => `sum(${column}) as ${column}`).join(', ')}
     from (select *, quarter / ${DAY_QUARTERS} as day from usage_quarters) q group by ${place}`,
    USAGE_SUMS.map(([column]) => column),
  )
const DAYS = [
  ['usage_days', daysOf('usage_days', 'key_name, day, tenant, publication, endpoint')],
  ['usage_key_days', daysOf('usage_key_days', 'key_name, day, tenant')],
  ['usage_model_days', daysOf('usage_model_days', 'day, tenant, publication, endpoint')],
] as const
const KEYS = differences(
  'key_totals',
  'key_name',
  `select key_name, sum(tokens) as tokens, sum(amount_units) as amount_units, sum(amount_nano) as amount_nano from (
     select ${nameOf('key_id')} as key_name, tokens, amount_units, amount_nano from (
       select key_id, sum(input_tokens + output_tokens) as tokens, sum(amount_nano / 1000000000) as amount_units,
         sum(amount_nano % 1000000000) as amount_nano from ${FOLDED} group by 1) s
     union all select key_name, input_tokens + output_tokens, amount_units, amount_nano from archived_usage) a
   group by 1`,
  ['tokens'],
)
const WALLETS = `
  with added as (
    select tenant, sum(nano) as nano from (
      select ${nameOf('tenant_id')} as tenant, nano from (
        select tenant_id, -sum(amount_nano::numeric) as nano from ${FOLDED} and tenant_id is not null group by 1
        union all
        select tenant_id, sum(case kind when ${DEBIT} then -amount_nano::numeric else amount_nano end)
        from ledger where kind >= 2 group by 1) s
      union all select tenant, -amount_units::numeric * 1000000000 - amount_nano from archived_usage where tenant <> '') a
    group by tenant)
  select tenant as row, coalesce(balance_units::numeric * 1000000000 + balance_nano, 0)::text as has,
    coalesce(nano, 0)::text as sum
  from wallets full join added using (tenant)
  where coalesce(balance_units::numeric * 1000000000 + balance_nano, 0) <> coalesce(nano, 0)
  order by 1 limit ${MAX_FINDINGS}`

const SAME_HOLD = (a: string, b: string) =>
  `${a}.request = ${b}.request and ${a}.attempt = ${b}.attempt and ${a}.opened_at_ms = ${b}.opened_at_ms`
const hold = (alias: string) =>
  `'request ' || ${requestIdOf(`${alias}.request`)} || ', attempt ' || ${alias}.attempt`

const CHECKS: readonly {
  readonly table: Finding['table']
  readonly sql: string
  readonly problem: string
}[] = [
  {
    table: 'open_holds',
    sql: `select ${hold('h')} as row from holds h left join instances i on i.serial = h.instance
      where (i.id is null or h.id <= i.folded_hold)
        and h.opened_at_ms >= (select coalesce(max(before_ms), 0) from archives)
        and not exists (select 1 from ledger l where ${SAME_HOLD('l', 'h')})
        and not exists (select 1 from older_holds o where ${SAME_HOLD('o', 'h')})
      limit ${MAX_FINDINGS}`,
    problem: 'is neither open, nor has it ended',
  },
  {
    table: 'ledger',
    sql: `select ${hold('l')} as row from ledger l
      where l.kind <= 1 and l.opened_at_ms >= (select min(opened_at_ms) from holds)
        and not exists (select 1 from holds h where ${SAME_HOLD('l', 'h')})
      limit ${MAX_FINDINGS}`,
    problem: 'has ended, and was never held',
  },
  {
    table: 'adjustments',
    sql: `select 'entry ' || entry_id as row from adjustments a
      where not exists (select 1 from ledger l where l.id = a.entry_id and l.tenant_id = a.tenant_id and l.kind >= 2)
      limit ${MAX_FINDINGS}`,
    problem: 'there is no such entry of its tenant',
  },
  {
    table: 'adjustments',
    sql: `select 'id ' || id as row from ledger
      where kind >= 2 and id not in (select entry_id from adjustments) limit ${MAX_FINDINGS}`,
    problem: 'says nothing of its reference',
  },
  {
    table: 'ledger',
    sql: `select 'index ledger_once' as row where not exists (
      select 1 from pg_index where indexrelid = to_regclass('ledger_once') and indisunique and indisvalid)`,
    problem: 'is missing: nothing keeps a call from ending twice',
  },
  {
    table: 'wallets',
    sql: `select 'version' as row from ledger_head
      where wallet_version <> (select coalesce(max(entry_id), 0) from adjustments)`,
    problem: 'is not that of the last adjustment',
  },
  {
    table: 'shares',
    sql: `select s.owner || ', ' || s.limit_name as row from scopes s
      where s.leased <> (select coalesce(sum(amount), 0) from shares h where h.owner = s.owner and h.limit_name = s.limit_name)
      limit ${MAX_FINDINGS}`,
    problem: 'what is leased differs from the shares of the gateways',
  },
]

interface Difference {
  readonly row: string
  readonly has: string
  readonly sum: string
}

/**
 * Recomputes the sums of all entries, as of one moment, and compares them with the stored sums; PostgreSQL adds up, in
 * bounded memory. Charges are compared with their prices here, a page at a time. The time before the newest archive without a file is
 * compared as one.
 * @param raw In a transaction that sees one moment: its first statement, or after `LOCK_LEDGER`.
 */
export async function verifyPostgres(
  raw: PlainSql,
  nowMs: number,
  { onProgress, signal, files = [] }: VerifyWatch = {},
): Promise<Verification> {
  await prepare(raw, LOCK_LEDGER).run()
  const archives = await selectArchives(raw)
  const archived = await verifyArchives(raw, archives, await filesOf(archives, files), signal)
  const counted = await prepare<[], { entries: number; open: number }>(
    raw,
    'select (select count(*) from ledger) as entries, (select count(*) from open_holds) as open',
  ).get()
  const { entries = 0, open = 0 } = counted ?? {}
  const findings: Finding[] = [...archived.findings]
  const fromQuarter = Math.max(0, ...archives.map(({ beforeMs }) => beforeMs)) / QUARTER_MS
  const tables = [
    ['usage_quarters', quartersFrom(fromQuarter)],
    ['key_totals', KEYS],
    ['wallets', WALLETS],
  ] as const
  for (const [table, sql] of tables) {
    findings.push(...(await compare(raw, table, sql)))
    signal?.throwIfAborted()
  }
  // A wrong quarter would be found once more as its day.
  if (findings.length === 0)
    for (const [table, sql] of DAYS) findings.push(...(await compare(raw, table, sql)))
  for (const { table, sql, problem } of CHECKS) {
    const rows = await prepare<[], { row: string }>(raw, sql).all()
    findings.push(...rows.map(({ row }) => ({ table, row, problem })))
    signal?.throwIfAborted()
  }
  findings.push(...(await checkDeadlines(raw, nowMs)))
  findings.push(...(await checkCharges(raw, count => onProgress?.(count, entries), signal)))
  // Entries without a price have no charge to compare.
  onProgress?.(entries, entries)
  return {
    entries: entries + archived.entries,
    archived: archived.carried,
    openHolds: open,
    unfoldedRows: 0,
    findings: findings.slice(0, MAX_FINDINGS),
  }
}

async function compare(raw: PlainSql, table: Finding['table'], sql: string): Promise<Finding[]> {
  const rows = await prepare<[], Difference>(raw, sql).all()
  return rows.map(({ row, has, sum }) => ({
    table,
    row,
    problem: has === sum ? 'counts differ from the entries' : `is ${has}, but the entries come to ${sum}`,
  }))
}

async function checkDeadlines(raw: PlainSql, nowMs: number): Promise<Finding[]> {
  const rows = await prepare<[number], { row: string; deadline_ms: number }>(
    raw,
    `select ${hold('h')} as row, deadline_ms from open_holds h where deadline_ms < ? order by deadline_ms limit ${MAX_FINDINGS}`,
  ).all(nowMs - SWEEP_AFTER_MS - SWEPT_WITHIN_MS)
  return rows.map(({ row, deadline_ms }) => ({
    table: 'open_holds',
    row,
    problem: `is open ${Math.round((nowMs - deadline_ms) / 1_000)} s after its deadline`,
  }))
}

interface ChargeRow extends Usage {
  readonly id: number
  readonly price_id: number
  readonly billed: string
}

const CHARGES = `
  select id, price_id, amount_nano::text as billed, input_tokens as "inputTokens",
    cached_input_tokens as "cachedInputTokens", cache_write_tokens as "cacheWriteTokens",
    output_tokens as "outputTokens", search_units as "searchUnits", duration_ms as "durationMs", characters, images
  from ledger where kind = 0 and price_id is not null`

/** A charge is its price times its usage (spec/money.md §5, invariant 3). */
async function checkCharges(
  raw: PlainSql,
  onProgress: (entries: number) => void,
  signal: AbortSignal | undefined,
): Promise<Finding[]> {
  const prices = await selectPrices(raw)
  const findings: Finding[] = []
  await prepare(raw, `declare charges no scroll cursor for ${CHARGES}`).run()
  const page = prepare<[], ChargeRow>(raw, `fetch ${PAGE_ROWS} from charges`)
  for (let count = 0; ; ) {
    const rows = await page.all()
    for (const row of rows) {
      const problem = chargeProblem(prices, row.price_id, usageOf(row), row.billed)
      if (problem !== undefined) findings.push({ table: 'ledger', row: `id ${row.id}`, problem })
    }
    count += rows.length
    onProgress(count)
    signal?.throwIfAborted()
    if (rows.length < PAGE_ROWS || findings.length > MAX_FINDINGS) return findings
  }
}
