import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useConsole } from '../api/context.ts'
import { REFRESH_MS } from '../api/queries.ts'
import { State } from '../ui/badges.tsx'
import { TextFilter, useFilters } from '../ui/filters.tsx'
import { ago, count, NONE } from '../ui/format.ts'
import { Labels } from '../ui/labels.tsx'
import { type EngineOfNode, inFlightOf, loadOf } from '../ui/node-figures.ts'
import { useNow } from '../ui/now.ts'
import { PageHead } from '../ui/page.tsx'
import { PagedTable } from '../ui/table.tsx'
import { JoinTokens, NewJoinTokenButton } from './join-tokens.tsx'

export function Nodes() {
  const { queries } = useConsole()
  const now = useNow()
  const [filters, filter] = useFilters({ q: '', endpoint: '' })
  const nodes = useInfiniteQuery({
    ...queries.nodes({
      ...(filters.q !== '' && { q: filters.q }),
      ...(filters.endpoint !== '' && { endpoint: filters.endpoint }),
    }),
    refetchInterval: REFRESH_MS,
  })
  return (
    <>
      <PageHead title="Nodes" actions={<NewJoinTokenButton />}>
        Machines that dial in and serve models, without an inbound port.
      </PageHead>
      <search className="filters">
        <TextFilter label="Name" value={filters.q} onChange={q => filter({ q })} placeholder="a part of it" />
        <TextFilter
          label="Endpoint"
          value={filters.endpoint}
          onChange={endpoint => filter({ endpoint })}
          placeholder="that chooses them"
        />
      </search>
      <PagedTable
        label="Nodes"
        query={nodes}
        keyOf={({ name }) => name}
        empty={
          filters.q + filters.endpoint === ''
            ? 'No node has joined yet. A node joins with a join token, and an endpoint chooses it by name or by labels.'
            : 'Nothing matches the filters.'
        }
        columns={[
          {
            head: 'Node',
            cell: ({ name, address }) => (
              <>
                <Link to="/nodes/$name" params={{ name }}>
                  {name}
                </Link>
                {address !== undefined && <span className="second">{address}</span>}
              </>
            ),
          },
          { head: 'State', cell: ({ state }) => <State state={state} /> },
          { head: 'Labels', cell: ({ labels }) => <Labels labels={labels} />, hidden: 'tablet' },
          {
            head: 'Engines',
            cell: ({ engines = [] }) =>
              engines.length === 0 ? NONE : engines.map(each => <Engine key={each.name} engine={each} />),
            hidden: 'phone',
          },
          { head: 'Load', cell: node => loadOf(node), hidden: 'tablet' },
          {
            head: 'In flight',
            cell: node => (node.state === 'disconnected' ? NONE : count(inFlightOf(node))),
            isNumber: true,
            hidden: 'phone',
          },
          {
            head: 'Serves',
            cell: ({ endpoints }) =>
              endpoints.length === 0
                ? NONE
                : endpoints.map(({ name }) => (
                    <span className="line" key={name}>
                      <Link to="/endpoints/$name" params={{ name }}>
                        {name}
                      </Link>
                    </span>
                  )),
            hidden: 'phone',
          },
          {
            head: 'Connected',
            cell: ({ connected_at: at }) => (at === undefined ? NONE : ago(at, now)),
            hidden: 'tablet',
          },
        ]}
      />
      <JoinTokens />
    </>
  )
}

function Engine({ engine: { name, kind, state, models } }: { readonly engine: EngineOfNode }) {
  return (
    <>
      <span className="line">
        {state === 'up' ? name : <State state={`${name} is down`} tone="bad" />}
        {kind !== undefined && kind !== name && ` (${kind})`}
      </span>
      <span className="second">{models.join(', ')}</span>
    </>
  )
}
