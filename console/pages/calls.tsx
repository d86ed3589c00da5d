import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Shapes } from '../api/client.ts'
import { useConsole, useSession } from '../api/context.ts'
import { REFRESH_MS } from '../api/queries.ts'
import { State } from '../ui/badges.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { ChoiceField } from '../ui/fields.tsx'
import { TextFilter, useFilters } from '../ui/filters.tsx'
import { clockTime, count, milliseconds, money } from '../ui/format.ts'
import { Facts, PageHead } from '../ui/page.tsx'
import { PagedTable } from '../ui/table.tsx'

type Call = Shapes['call']

const STATUSES = [
  { value: '', label: 'all' },
  { value: '400', label: 'failed' },
  { value: '500', label: '5xx' },
]

export function Calls() {
  const { queries } = useConsole()
  const { user } = useSession()
  const [filters, filter] = useFilters({
    key: '',
    model: '',
    endpoint: '',
    node: '',
    status: '',
    request: '',
  })
  const [open, setOpen] = useState<Call>()
  const calls = useInfiniteQuery({
    ...queries.calls({
      limit: 100,
      ...(filters.key !== '' && { key: filters.key }),
      ...(filters.model !== '' && { model: filters.model }),
      ...(filters.endpoint !== '' && { endpoint: filters.endpoint }),
      ...(filters.node !== '' && { node: filters.node }),
      ...(filters.request !== '' && { request_id: filters.request }),
      ...(filters.status !== '' && { min_status: Number(filters.status) }),
    }),
    // Who reads on among older calls is not disturbed.
    refetchInterval: ({ state }) => (state.data?.pages.length === 1 ? REFRESH_MS : false),
  })
  return (
    <>
      <PageHead title="Calls">
        Calls that reached an endpoint, newest first. No prompt is ever stored.
      </PageHead>
      <search className="filters">
        <TextFilter label="Key" value={filters.key} onChange={key => filter({ key })} />
        <TextFilter label="Model" value={filters.model} onChange={model => filter({ model })} />
        {user.role === 'admin' && (
          <>
            <TextFilter
              label="Endpoint"
              value={filters.endpoint}
              onChange={endpoint => filter({ endpoint })}
            />
            <TextFilter label="Node" value={filters.node} onChange={node => filter({ node })} />
          </>
        )}
        <ChoiceField
          label="Status"
          value={filters.status}
          options={STATUSES}
          onChange={status => filter({ status })}
        />
        <TextFilter label="Request id" value={filters.request} onChange={request => filter({ request })} />
      </search>
      <PagedTable
        label="Calls"
        query={calls}
        keyOf={({ id }) => String(id)}
        empty="No such call."
        columns={[
          {
            head: 'Time',
            cell: row => (
              <button type="button" className="button link" onClick={() => setOpen(row)}>
                {clockTime(row.at)}
              </button>
            ),
          },
          {
            head: 'Result',
            cell: ({ status }) => <State state={String(status)} tone={status < 400 ? 'good' : 'bad'} />,
          },
          { head: 'Model', cell: ({ model: name }) => name },
          { head: 'Key', cell: ({ key: name }) => name, hidden: 'phone' },
          {
            head: 'Tokens',
            cell: ({ input_tokens: input = 0, output_tokens: output = 0 }) =>
              `${count(input)} + ${count(output)}`,
            isNumber: true,
            hidden: 'phone',
          },
          {
            head: 'First byte',
            cell: row => milliseconds(row.first_byte_ms),
            isNumber: true,
            hidden: 'tablet',
          },
          { head: 'Total', cell: row => milliseconds(row.latency_ms), isNumber: true, hidden: 'tablet' },
          { head: 'Cost', cell: ({ cost }) => money(cost), isNumber: true },
        ]}
      />
      {open && <CallDialog call={open} onClose={() => setOpen(undefined)} />}
    </>
  )
}

function CallDialog({ call, onClose }: { readonly call: Call; readonly onClose: () => void }) {
  const { can } = useSession()
  return (
    <Dialog title={`Call ${call.request_id}`} isOpen isWide onClose={onClose}>
      <Facts
        facts={[
          ['Time', clockTime(call.at)],
          ['Result', `${call.status}, ${call.outcome.replaceAll('_', ' ')}`],
          ['Error', call.error_code],
          ['Reason', call.reason],
          ['Failed attempts', call.failed_attempts?.join('; ')],
          [
            'Key',
            can('list_keys') && (
              <Link to="/keys/$name" params={{ name: call.key }}>
                {call.key}
              </Link>
            ),
          ],
          ['Tenant', call.tenant],
          ['Model', call.model],
          ['Endpoint', call.endpoint],
          ['Node', call.node],
          ['Path', call.path + (call.stream ? ', streamed' : '')],
          ['Input tokens', call.input_tokens !== undefined && count(call.input_tokens)],
          ['of these cached', call.cached_input_tokens !== undefined && count(call.cached_input_tokens)],
          ['Output tokens', call.output_tokens !== undefined && count(call.output_tokens)],
          ['Cost', money(call.cost, call.currency)],
          ['Flags', call.flags.join(', ')],
          ['First byte', milliseconds(call.first_byte_ms)],
          ['Total', milliseconds(call.latency_ms)],
          ['Attempts', call.attempts],
        ]}
      />
    </Dialog>
  )
}
