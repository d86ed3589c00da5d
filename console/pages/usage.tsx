import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useConsole, useSession } from '../api/context.ts'
import { ChoiceField } from '../ui/fields.tsx'
import { useFilters } from '../ui/filters.tsx'
import { count, money, NONE } from '../ui/format.ts'
import { Loaded, PageHead } from '../ui/page.tsx'
import { Table } from '../ui/table.tsx'

const DIMENSIONS = ['day', 'model', 'key', 'tenant', 'endpoint'] as const
type Dimension = (typeof DIMENSIONS)[number]

const SPANS = [
  { value: '1', label: '24 hours' },
  { value: '7', label: '7 days' },
  { value: '30', label: '30 days' },
  { value: '90', label: '90 days' },
]

export function Usage() {
  const { queries } = useConsole()
  const { user } = useSession()
  const [filters, filter] = useFilters({ by: 'day', days: '30' })
  const { days } = filters
  const by = filters.by as Dimension
  // To the start of a quarter: the query stays the same for a while.
  const [nowMs] = useState(() => Math.floor(Date.now() / 900_000) * 900_000)
  const since = new Date(nowMs - Number(days) * 86_400_000).toISOString()
  const usage = useQuery(queries.usage({ by, since }))
  const offered = DIMENSIONS.filter(
    each => user.role === 'admin' || (each !== 'endpoint' && each !== 'tenant'),
  )
  return (
    <>
      <PageHead title="Usage and cost">What was used, and what it cost, by the end of each call.</PageHead>
      <search className="filters">
        <ChoiceField
          label="By"
          value={by}
          options={offered.map(value => ({ value, label: value }))}
          onChange={value => filter({ by: value })}
        />
        <ChoiceField
          label="In the last"
          value={days}
          options={SPANS}
          onChange={value => filter({ days: value })}
        />
      </search>
      <Loaded query={usage}>
        {({ data, currency }) => {
          const most = Math.max(...data.map(({ cost }) => Number(cost)), 0)
          return (
            <Table
              label={`Usage by ${by}`}
              rows={data}
              keyOf={({ label }) => label ?? ''}
              empty="Nothing was used in this time."
              columns={[
                { head: by, cell: ({ label }) => label ?? NONE },
                { head: 'Calls', cell: row => count(row.requests), isNumber: true },
                { head: 'Input', cell: row => count(row.input_tokens), isNumber: true, hidden: 'phone' },
                {
                  head: 'Cached',
                  cell: row => count(row.cached_input_tokens),
                  isNumber: true,
                  hidden: 'tablet',
                },
                { head: 'Output', cell: row => count(row.output_tokens), isNumber: true, hidden: 'phone' },
                { head: `Cost, ${currency}`, cell: ({ cost }) => money(cost), isNumber: true },
                {
                  head: 'Share',
                  cell: ({ cost, label }) => (
                    <progress
                      className="share"
                      value={most === 0 ? 0 : Number(cost) / most}
                      max={1}
                      aria-label={`Cost of ${label ?? NONE}, of the highest`}
                    />
                  ),
                  hidden: 'phone',
                },
              ]}
            />
          )
        }}
      </Loaded>
    </>
  )
}
