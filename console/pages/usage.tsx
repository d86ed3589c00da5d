import { keepPreviousData, useQuery } from '@tanstack/react-query'
import type { Shapes } from '../api/client.ts'
import { useConsole, useSession } from '../api/context.ts'
import { type Bar, BarChart } from '../ui/chart.tsx'
import { CsvButton } from '../ui/csv.tsx'
import { ChoiceField } from '../ui/fields.tsx'
import { TextFilter, useFilters } from '../ui/filters.tsx'
import { compact, count, hour, money, moneyColumn, NONE, sumOf } from '../ui/format.ts'
import { useNow } from '../ui/now.ts'
import { Loaded, PageHead, Section } from '../ui/page.tsx'
import { Table } from '../ui/table.tsx'

const QUARTER_MS = 900_000

type Usage = Shapes['usage']
type Row = Usage['data'][number]
type Dimension = Usage['by']

const DIMENSIONS: readonly Dimension[] = ['day', 'hour', 'model', 'key', 'tenant', 'endpoint']

const SPLITS = ['model', 'key', 'tenant', 'endpoint'] as const

const SPANS = [
  { value: '1', label: '24 hours' },
  { value: '7', label: '7 days' },
  { value: '30', label: '30 days' },
  { value: '90', label: '90 days' },
  { value: 'month', label: 'this month' },
  { value: 'last', label: 'last month' },
]

const MEASURES = [
  { value: 'cost', label: 'cost' },
  { value: 'calls', label: 'calls' },
  { value: 'tokens', label: 'tokens' },
]

const CSV_COLUMNS = [
  'requests',
  'input_tokens',
  'cached_input_tokens',
  'cache_write_tokens',
  'output_tokens',
  'search_units',
  'duration_ms',
  'characters',
  'images',
  'estimated',
  'unpriced',
  'cost',
] as const

/** What is shown, with its time: while other choices are loaded, the report is still the one before. */
function UsageCsv({ usage: { by, split, since, until, currency, data } }: { readonly usage: Usage }) {
  const days = [since, until].map(time => time.slice(0, 10)).join('-to-')
  return (
    <CsvButton
      name={`usage-by-${by}${split ? `-and-${split}` : ''}-${days}`}
      head={[by, ...(split ? [split] : []), ...CSV_COLUMNS, 'currency', 'since', 'until']}
      rows={() =>
        data.map(row => [
          row.label ?? '',
          ...(split ? [row.split ?? ''] : []),
          ...CSV_COLUMNS.map(column => row[column]),
          currency,
          since,
          until,
        ])
      }
    />
  )
}

export function Usage() {
  const { queries } = useConsole()
  const { user } = useSession()
  const isAdmin = user.role === 'admin'
  const [filters, filter] = useFilters({
    by: 'day',
    split: '',
    days: '30',
    show: 'cost',
    model: '',
    key: '',
    tenant: '',
  })
  const nowMs = useNow(QUARTER_MS)
  const named = { model: filters.model, key: filters.key, tenant: filters.tenant }
  const set = Object.fromEntries(Object.entries(named).filter(([, value]) => value !== ''))
  const isOffered = (each: Dimension) => isAdmin || (each !== 'endpoint' && each !== 'tenant')
  const by = DIMENSIONS.filter(isOffered).find(each => each === filters.by) ?? 'day'
  const splits = SPLITS.filter(each => each !== by && isOffered(each))
  const split = splits.find(each => each === filters.split)
  const usage = useQuery({
    ...queries.usage({ by, ...(split && { split }), ...spanOf(filters.days, nowMs), ...set }),
    placeholderData: keepPreviousData,
  })
  return (
    <>
      <PageHead title="Usage and cost" actions={usage.data && <UsageCsv usage={usage.data} />}>
        What was used, and what it cost, by the end of each call. Days and months are in UTC, hours in your
        time zone.
      </PageHead>
      <search className="filters">
        <ChoiceField
          label="By"
          value={by}
          options={DIMENSIONS.filter(isOffered).map(value => ({ value, label: value }))}
          // Hours of a long time are too many to read, and slow to add up.
          onChange={value => filter({ by: value, ...(value === 'hour' && { days: '1' }) })}
        />
        <ChoiceField
          label="Split by"
          value={split ?? ''}
          options={[{ value: '', label: 'nothing' }, ...splits.map(value => ({ value, label: value }))]}
          onChange={value => filter({ split: value })}
        />
        <ChoiceField label="Time" value={filters.days} options={SPANS} onChange={days => filter({ days })} />
        <ChoiceField
          label="Show"
          value={filters.show}
          options={MEASURES}
          onChange={show => filter({ show })}
        />
        <TextFilter label="Model" value={filters.model} onChange={model => filter({ model })} />
        <TextFilter label="Key" value={filters.key} onChange={key => filter({ key })} />
        {isAdmin && (
          <TextFilter label="Tenant" value={filters.tenant} onChange={tenant => filter({ tenant })} />
        )}
      </search>
      <Loaded query={usage}>{found => <Report usage={found} measure={filters.show} />}</Loaded>
    </>
  )
}

function Report({ usage, measure }: { readonly usage: Usage; readonly measure: string }) {
  const { by, split, data, currency } = usage
  const valueOf = (row: Row) =>
    measure === 'calls'
      ? row.requests
      : measure === 'tokens'
        ? row.input_tokens + row.output_tokens
        : Number(row.cost)
  const textOf = (row: Row) => (measure === 'cost' ? money(row.cost, currency) : count(valueOf(row)))
  const labelOf = (row: Row) => (by === 'hour' && row.label !== null ? hour(row.label) : (row.label ?? NONE))
  const costText = moneyColumn(data.map(({ cost }) => cost))
  const isTime = by === 'day' || by === 'hour'
  const most = Math.max(...data.map(valueOf), 0)
  const rows = by === 'hour' ? data.filter(({ requests }) => requests > 0) : data
  return (
    <>
      {isTime && data.length > 0 && (
        <Section title={measure === 'cost' ? `Cost, ${currency}` : measure === 'calls' ? 'Calls' : 'Tokens'}>
          <BarChart
            label={`By ${by}, in all ${totalText(data, measure, currency)}`}
            bars={barsOf(usage, (row, at) => ({
              at,
              label: labelOf(row),
              value: valueOf(row),
              text: textOf(row),
            }))}
            format={value =>
              measure === 'cost' && value < 10 ? String(Number(value.toPrecision(2))) : compact(value)
            }
          />
        </Section>
      )}
      <Table
        label={`Usage by ${by}`}
        rows={isTime ? rows.toReversed() : rows}
        keyOf={row => `${row.label} ${row.split ?? ''}`}
        empty="Nothing was used in this time."
        columns={[
          { head: capitalized(by), cell: row => <span className="anywhere">{labelOf(row)}</span> },
          ...(split
            ? [
                {
                  head: capitalized(split),
                  cell: (row: Row) => <span className="anywhere">{row.split ?? NONE}</span>,
                },
              ]
            : []),
          { head: 'Calls', cell: row => count(row.requests), isNumber: true },
          { head: 'Input', cell: row => count(row.input_tokens), isNumber: true, hidden: 'phone' },
          { head: 'Cached', cell: row => count(row.cached_input_tokens), isNumber: true, hidden: 'tablet' },
          { head: 'Output', cell: row => count(row.output_tokens), isNumber: true, hidden: 'phone' },
          { head: `Cost, ${currency}`, cell: ({ cost }) => costText(cost), isNumber: true },
          {
            head: 'Share',
            cell: row => (
              <progress
                className="share"
                value={most === 0 ? 0 : valueOf(row) / most}
                max={1}
                aria-label={`${labelOf(row)}, of the highest`}
              />
            ),
            hidden: 'phone',
          },
        ]}
      />
    </>
  )
}

const SPAN_MS = { day: 86_400_000, hour: 3_600_000 }

/** A bar for each day or hour of the whole time: the answer begins with the first call and ends with the last. */
function barsOf({ by, since, until, data }: Usage, barOf: (row: Row, at: number) => Bar): readonly Bar[] {
  const stepMs = by === 'hour' ? SPAN_MS.hour : SPAN_MS.day
  const byTime = new Map<number, Row>()
  for (const row of data) {
    const at = Date.parse(row.label ?? '')
    const other = byTime.get(at)
    byTime.set(at, other ? together(other, row) : row)
  }
  const endMs = Date.parse(until)
  const bars: Bar[] = []
  for (let at = Math.floor(Date.parse(since) / stepMs) * stepMs; at < endMs; at += stepMs) {
    const label = new Date(at).toISOString()
    const quiet = { ...QUIET, label: by === 'hour' ? label : label.slice(0, 10) }
    bars.push(barOf(byTime.get(at) ?? quiet, at))
  }
  return bars
}

/** Two rows of one time, of usage that is split, in what a bar shows. */
function together(one: Row, other: Row): Row {
  return {
    ...one,
    requests: one.requests + other.requests,
    input_tokens: one.input_tokens + other.input_tokens,
    output_tokens: one.output_tokens + other.output_tokens,
    cost: sumOf([one.cost, other.cost]),
  }
}

function capitalized(word: string): string {
  return `${word[0]?.toUpperCase()}${word.slice(1)}`
}

const QUIET: Row = {
  label: null,
  requests: 0,
  input_tokens: 0,
  cached_input_tokens: 0,
  cache_write_tokens: 0,
  output_tokens: 0,
  search_units: 0,
  duration_ms: 0,
  characters: 0,
  images: 0,
  cost: '0',
  estimated: 0,
  unpriced: 0,
}

function totalText(rows: readonly Row[], measure: string, currency: string): string {
  const sum = (of: (row: Row) => number) => rows.reduce((total, row) => total + of(row), 0)
  if (measure === 'calls') return count(sum(({ requests }) => requests))
  if (measure === 'tokens') return count(sum(row => row.input_tokens + row.output_tokens))
  return money(sumOf(rows.map(({ cost }) => cost)), currency)
}

/** Months begin and end in UTC, as statements do. */
function spanOf(days: string, nowMs: number): { readonly since: string; readonly until?: string } {
  const now = new Date(nowMs)
  const month = (back: number) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 1)).toISOString()
  if (days === 'month') return { since: month(0) }
  if (days === 'last') return { since: month(1), until: month(0) }
  return { since: new Date(nowMs - Number(days) * 86_400_000).toISOString() }
}
