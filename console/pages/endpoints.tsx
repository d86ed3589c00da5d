import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useConsole, useSession } from '../api/context.ts'
import { Owner, State } from '../ui/badges.tsx'
import { ListFilters, useFilters } from '../ui/filters.tsx'
import { count, milliseconds } from '../ui/format.ts'
import { matchText } from '../ui/node-figures.ts'
import { PageHead } from '../ui/page.tsx'
import { ResourceForm } from '../ui/resource-form.tsx'
import { PagedTable } from '../ui/table.tsx'
import { ENDPOINT_FIELDS, ENDPOINT_VARIANTS } from './endpoint-fields.ts'

export function Endpoints() {
  const { queries } = useConsole()
  const { can } = useSession()
  const navigate = useNavigate()
  const [filters, filter] = useFilters({ q: '', owner: '', new: '' })
  const endpoints = useInfiniteQuery(
    queries.endpoints({
      ...(filters.q !== '' && { q: filters.q }),
      ...(filters.owner !== '' && { owner: filters.owner as 'rest' }),
    }),
  )
  const { data: live } = useQuery(queries.liveStats())
  const flows = new Map(live?.endpoints.map(flow => [flow.name, flow]))
  return (
    <>
      <PageHead
        title="Access Endpoints"
        actions={
          can('create_endpoint') && (
            <button type="button" className="button primary" onClick={() => filter({ new: 'yes' })}>
              New endpoint
            </button>
          )
        }
      >
        The model servers and vendor accounts behind the gateway.
      </PageHead>
      <ListFilters filters={filters} filter={filter} />
      <PagedTable
        label="Endpoints"
        query={endpoints}
        keyOf={({ name }) => name}
        empty={
          filters.q + filters.owner === ''
            ? 'There is no endpoint yet. An endpoint is an address that serves a model.'
            : 'Nothing matches the filters.'
        }
        columns={[
          {
            head: 'Endpoint',
            cell: ({ name, display_name: display }) => (
              <>
                <Link to="/endpoints/$name" params={{ name }}>
                  {name}
                </Link>
                {display !== undefined && <span className="second">{display}</span>}
              </>
            ),
          },
          {
            head: 'State',
            cell: ({ enabled, name, health }) => (
              <State state={enabled ? (flows.get(name)?.state ?? health?.state ?? 'unknown') : 'disabled'} />
            ),
          },
          { head: 'Protocol', cell: ({ protocol }) => protocol, hidden: 'phone' },
          {
            head: 'Address',
            cell: ({ base_url: url, nodes, matched_nodes: matched, served_model: model }) => (
              <>
                {nodes ? (
                  <span className="line">
                    {nodes.engine} on {matchText(matched)}
                  </span>
                ) : (
                  <span className="mono">{url}</span>
                )}
                <span className="second">{model}</span>
              </>
            ),
            hidden: 'phone',
          },
          {
            head: 'Req/s',
            cell: ({ name }) => count(flows.get(name)?.requests_per_second ?? 0),
            isNumber: true,
          },
          {
            head: 'p95',
            cell: ({ name }) => milliseconds(flows.get(name)?.p95_ms),
            isNumber: true,
            hidden: 'tablet',
          },
          {
            head: 'Owner',
            cell: ({ owner, set }) => <Owner owner={owner} {...(set !== undefined && { set })} />,
            hidden: 'tablet',
          },
        ]}
      />
      {filters.new === 'yes' && (
        <ResourceForm
          kind="endpoint"
          title="New endpoint"
          fields={ENDPOINT_FIELDS}
          variants={ENDPOINT_VARIANTS}
          preset={{ protocol: 'openai' }}
          onClose={() => filter({ new: '' })}
          onDone={name => void navigate({ to: '/endpoints/$name', params: { name } })}
        />
      )}
    </>
  )
}
