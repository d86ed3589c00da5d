import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useConsole, useSession } from '../api/context.ts'
import { Owner, State } from '../ui/badges.tsx'
import { ListFilters, useFilters } from '../ui/filters.tsx'
import { count } from '../ui/format.ts'
import { useNow } from '../ui/now.ts'
import { PageHead } from '../ui/page.tsx'
import { currentPrice, priceText } from '../ui/price.ts'
import { ResourceForm } from '../ui/resource-form.tsx'
import { PagedTable } from '../ui/table.tsx'
import { publicationFields } from './publication-fields.ts'

export function Publications() {
  const { queries } = useConsole()
  const { can, currency = '' } = useSession()
  const navigate = useNavigate()
  const now = useNow()
  const [filters, filter] = useFilters({ q: '', owner: '', new: '' })
  const publications = useInfiniteQuery(
    queries.publications({
      ...(filters.q !== '' && { q: filters.q }),
      ...(filters.owner !== '' && { owner: filters.owner as 'rest' }),
    }),
  )
  const { data: counts } = useQuery(queries.bindingCounts())
  const { data: endpoints = [] } = useQuery({ ...queries.endpointNames(), enabled: filters.new === 'yes' })
  const { data: live } = useQuery(queries.liveStats())
  const rates = new Map(live?.models.map(({ name, requests_per_second: rate }) => [name, rate]))
  return (
    <>
      <PageHead
        title="Model Publishing"
        actions={
          can('create_publication') && (
            <button type="button" className="button primary" onClick={() => filter({ new: 'yes' })}>
              New model
            </button>
          )
        }
      >
        The model names that applications use, with their prices per million tokens.
      </PageHead>
      <ListFilters filters={filters} filter={filter} />
      <PagedTable
        label="Models"
        query={publications}
        keyOf={({ name }) => name}
        empty={
          filters.q + filters.owner === ''
            ? 'No model is published yet. A model is a public name, bound to one or more endpoints.'
            : 'Nothing matches the filters.'
        }
        columns={[
          {
            head: 'Model',
            cell: ({ name, display_name: display }) => (
              <>
                <Link to="/publications/$name" params={{ name }}>
                  {name}
                </Link>
                {display !== undefined && <span className="second">{display}</span>}
              </>
            ),
          },
          { head: 'Status', cell: ({ status }) => <State state={status} /> },
          {
            head: `Input / output, ${currency}`,
            cell: ({ price }) => priceText(currentPrice(price, now)),
            isNumber: true,
            hidden: 'phone',
          },
          { head: 'Endpoints', cell: ({ name }) => counts && (counts.get(name) ?? 0), isNumber: true },
          { head: 'Req/s', cell: ({ name }) => count(rates.get(name) ?? 0), isNumber: true, hidden: 'phone' },
          {
            head: 'Owner',
            cell: ({ owner, set }) => <Owner owner={owner} {...(set !== undefined && { set })} />,
            hidden: 'tablet',
          },
        ]}
      />
      {filters.new === 'yes' && (
        <ResourceForm
          kind="publication"
          title="New model"
          fields={publicationFields(false)}
          preset={{ status: 'listed' }}
          endpoints={endpoints}
          onClose={() => filter({ new: '' })}
          onDone={name => void navigate({ to: '/publications/$name', params: { name } })}
        />
      )}
    </>
  )
}
