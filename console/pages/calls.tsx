import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import type { Shapes } from '../api/client.ts'
import { useConsole, useSession } from '../api/context.ts'
import { State } from '../ui/badges.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { ChoiceField } from '../ui/fields.tsx'
import { TextFilter, useFilters } from '../ui/filters.tsx'
import { clockTime, count, milliseconds, money, NONE } from '../ui/format.ts'
import { Facts, PageHead, Prose } from '../ui/page.tsx'
import { PagedTable } from '../ui/table.tsx'

type Call = Shapes['call']
type Rejection = Shapes['rejected_call']

const LOGS = [
  { value: '', label: 'dispatched' },
  { value: 'rejected', label: 'rejected' },
]

const SPANS = [
  { value: '24h', label: '24 hours' },
  { value: '7d', label: '7 days' },
  { value: 'all', label: 'all that are kept' },
]
const HOUR_MS = 3_600_000
const SPAN_MS: Readonly<Record<string, number>> = { '24h': 86_400_000, '7d': 7 * 86_400_000 }

const STATUSES = [
  { value: '', label: 'all' },
  { value: '400', label: 'failed' },
  { value: '500', label: '5xx' },
]

export function Calls() {
  const { user } = useSession()
  const [filters, filter] = useFilters({
    show: '',
    key: '',
    model: '',
    endpoint: '',
    node: '',
    status: '',
    request: '',
    time: '24h',
  })
  // The beginning of the hour: consoles that ask the same question share the answer. It stays while the page is open, since a list
  // that is read would go back to its start; the newest calls come by events.
  const [hourMs] = useState(() => Math.floor(Date.now() / HOUR_MS) * HOUR_MS)
  const spanMs = SPAN_MS[filters.time]
  const isOfRejected = filters.show === 'rejected'
  const common = {
    limit: 100,
    ...(filters.key !== '' && { key: filters.key }),
    ...(filters.model !== '' && { model: filters.model }),
    ...(filters.request !== '' && { request_id: filters.request }),
    ...(filters.request === '' && spanMs !== undefined && { since: new Date(hourMs - spanMs).toISOString() }),
    ...(filters.status !== '' && { min_status: Number(filters.status) }),
  }
  return (
    <>
      <PageHead title="Calls">
        {isOfRejected
          ? 'Calls that were rejected before an endpoint was asked, newest first.'
          : 'Calls that reached an endpoint, newest first. No prompt is ever stored.'}
      </PageHead>
      <search className="filters">
        <ChoiceField label="Show" value={filters.show} options={LOGS} onChange={show => filter({ show })} />
        <TextFilter label="Key" value={filters.key} onChange={key => filter({ key })} />
        <TextFilter label="Model" value={filters.model} onChange={model => filter({ model })} />
        {user.role === 'admin' && !isOfRejected && (
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
        <ChoiceField label="Time" value={filters.time} options={SPANS} onChange={time => filter({ time })} />
        <TextFilter label="Request id" value={filters.request} onChange={request => filter({ request })} />
      </search>
      {isOfRejected ? (
        <RejectedCalls query={common} />
      ) : (
        <DispatchedCalls
          query={{
            ...common,
            ...(filters.endpoint !== '' && { endpoint: filters.endpoint }),
            ...(filters.node !== '' && { node: filters.node }),
          }}
        />
      )}
    </>
  )
}

type Queries = ReturnType<typeof useConsole>['queries']

function DispatchedCalls({ query }: { readonly query: Parameters<Queries['calls']>[0] }) {
  const { queries } = useConsole()
  const [open, setOpen] = useState<Call>()
  return (
    <>
      <PagedTable
        label="Calls"
        query={useInfiniteQuery(queries.calls(query))}
        keyOf={({ id }) => String(id)}
        empty={
          <>
            No such call. <Link to="/why">Why</Link> says whether one would be served.
          </>
        }
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
          { head: 'Model', cell: ({ model: name }) => <span className="anywhere">{name}</span> },
          { head: 'Key', cell: ({ key: name }) => <span className="anywhere">{name}</span>, hidden: 'phone' },
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

/** Equal calls of a second in a line. What a key or a model is called here may not exist: no links. */
function RejectedCalls({ query }: { readonly query: Parameters<Queries['rejections']>[0] }) {
  const { queries } = useConsole()
  const { user } = useSession()
  return (
    <PagedTable
      label="Rejected calls"
      query={useInfiniteQuery(queries.rejections(query))}
      keyOf={({ id }) => String(id)}
      empty="No call was rejected."
      columns={[
        {
          head: 'Time',
          cell: ({ at }) => (
            <time dateTime={at} className="short">
              {clockTime(at)}
            </time>
          ),
        },
        { head: 'Result', cell: ({ status }) => <State state={String(status)} tone="bad" /> },
        { head: 'Model', cell: ({ asked_model: model = NONE }) => <span className="mono">{model}</span> },
        { head: 'Key', cell: ({ key = NONE }) => key, hidden: 'phone' },
        { head: 'Message to the client', cell: ({ message }) => <Prose text={message} /> },
        ...(user.role === 'admin'
          ? [{ head: 'Reason', cell: (row: Rejection) => row.reason, hidden: 'tablet' as const }]
          : []),
        {
          head: 'Now',
          cell: ({ key, asked_model: model }) =>
            key !== undefined &&
            model !== undefined && (
              <Link to="/why" search={{ key, model }} className="short">
                why?
              </Link>
            ),
          hidden: 'phone',
        },
        { head: 'Calls', cell: row => count(row.count), isNumber: true },
      ]}
    />
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
          ['Key', linked(can('list_keys'), '/keys', call.key)],
          ['Tenant', call.tenant],
          ['Model', linked(can('list_publications'), '/publications', call.model)],
          ['Endpoint', linked(can('list_endpoints'), '/endpoints', call.endpoint)],
          ['Node', linked(can('list_nodes'), '/nodes', call.node)],
          ['Path', call.path + (call.stream ? ', streamed' : '')],
          ['Input tokens', call.input_tokens !== undefined && count(call.input_tokens)],
          ['of these cached', call.cached_input_tokens !== undefined && count(call.cached_input_tokens)],
          ['Output tokens', call.output_tokens !== undefined && count(call.output_tokens)],
          ['Cost', money(call.cost, call.currency)],
          ['Flags', call.flags.join(', ')],
          ['First byte', milliseconds(call.first_byte_ms)],
          ['Total', milliseconds(call.latency_ms)],
          ['Attempts', call.attempts],
          [
            'The same call now',
            can('explain') && (
              <Link to="/why" search={{ key: call.key, model: call.model }}>
                would it be served?
              </Link>
            ),
          ],
        ]}
      />
    </Dialog>
  )
}

/** The name of a resource, with a link to its page if the session may open it. */
function linked(isLinked: boolean, list: string, name: string | undefined): ReactNode {
  return isLinked && name !== undefined ? (
    <Link to={`${list}/${encodeURIComponent(name)}`}>{name}</Link>
  ) : (
    name
  )
}
