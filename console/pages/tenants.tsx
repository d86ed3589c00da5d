import { useInfiniteQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useConsole, useSession } from '../api/context.ts'
import { Owner, State } from '../ui/badges.tsx'
import { ListFilters, useFilters } from '../ui/filters.tsx'
import { modelsText } from '../ui/format.ts'
import { PageHead } from '../ui/page.tsx'
import { ResourceForm } from '../ui/resource-form.tsx'
import { PagedTable } from '../ui/table.tsx'
import { TENANT_FIELDS } from './tenant-fields.ts'

export function Tenants() {
  const { queries } = useConsole()
  const { can } = useSession()
  const navigate = useNavigate()
  const [filters, filter] = useFilters({ q: '', owner: '', new: '' })
  const tenants = useInfiniteQuery(
    queries.tenants({
      ...(filters.q !== '' && { q: filters.q }),
      ...(filters.owner !== '' && { owner: filters.owner as 'rest' }),
    }),
  )
  return (
    <>
      <PageHead
        title="Tenants and wallets"
        actions={
          can('create_tenant') && (
            <button type="button" className="button primary" onClick={() => filter({ new: 'yes' })}>
              New tenant
            </button>
          )
        }
      >
        Customers and teams: who has keys, and who pays.
      </PageHead>
      <ListFilters filters={filters} filter={filter} />
      <PagedTable
        label="Tenants"
        query={tenants}
        keyOf={({ name }) => name}
        empty={
          filters.q + filters.owner === ''
            ? 'There is no tenant yet. A tenant is a customer or a team with keys, limits and a wallet.'
            : 'Nothing matches the filters.'
        }
        columns={[
          {
            head: 'Tenant',
            cell: ({ name, display_name: display }) => (
              <>
                <Link to="/tenants/$name" params={{ name }}>
                  {name}
                </Link>
                {display !== undefined && <span className="second">{display}</span>}
              </>
            ),
          },
          { head: 'Status', cell: ({ status }) => <State state={status} /> },
          { head: 'Billing', cell: ({ billing }) => billing },
          { head: 'Models', cell: ({ models }) => modelsText(models), hidden: 'tablet' },
          {
            head: 'Own keys',
            cell: ({ self_service: own }) => (own ? `up to ${own.max_keys}` : 'none'),
            hidden: 'phone',
          },
          {
            head: 'Owner',
            cell: ({ owner, set }) => <Owner owner={owner} {...(set !== undefined && { set })} />,
            hidden: 'phone',
          },
        ]}
      />
      {filters.new === 'yes' && (
        <ResourceForm
          kind="tenant"
          title="New tenant"
          fields={TENANT_FIELDS}
          preset={{ status: 'active', billing: 'postpaid' }}
          onClose={() => filter({ new: '' })}
          onDone={name => void navigate({ to: '/tenants/$name', params: { name } })}
        />
      )}
    </>
  )
}
