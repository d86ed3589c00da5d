import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import type { Shapes } from '../api/client.ts'
import { useConsole, useSession } from '../api/context.ts'
import { Owner, State } from '../ui/badges.tsx'
import { ChoiceField } from '../ui/fields.tsx'
import { ListFilters, TextFilter, useFilters } from '../ui/filters.tsx'
import { ago, lastUse, modelsText, NONE } from '../ui/format.ts'
import { useNow } from '../ui/now.ts'
import { PageHead } from '../ui/page.tsx'
import { ResourceForm } from '../ui/resource-form.tsx'
import { PagedTable } from '../ui/table.tsx'
import { keyFields, ownKeyFields } from './key-fields.ts'

const STATES = [
  { value: '', label: 'all' },
  { value: 'active', label: 'active' },
  { value: 'no_secret', label: 'no secret' },
  { value: 'suspended', label: 'suspended' },
  { value: 'disabled', label: 'disabled' },
  { value: 'expired', label: 'expired' },
]

const USES = [
  { value: '', label: 'all' },
  { value: 'expiring 14d', label: 'expire within 14 days' },
  { value: 'unused 30d', label: 'unused for 30 days' },
  { value: 'unused 90d', label: 'unused for 90 days' },
]

export function Keys() {
  const { queries } = useConsole()
  const { can, user } = useSession()
  const navigate = useNavigate()
  const now = useNow()
  const [filters, filter] = useFilters({ q: '', owner: '', state: '', tenant: '', use: '', new: '' })
  const [useFilter = '', span = ''] = filters.use.split(' ')
  const keys = useInfiniteQuery(
    queries.keys({
      ...(filters.q !== '' && { q: filters.q }),
      ...(filters.owner !== '' && { owner: filters.owner as 'rest' }),
      ...(filters.state !== '' && { state: filters.state as 'active' }),
      ...(filters.tenant !== '' && { tenant: filters.tenant }),
      ...(useFilter !== '' && { [useFilter]: span }),
    }),
  )
  const isAdmin = user.role === 'admin'
  const tenants = useInfiniteQuery({ ...queries.tenants(), enabled: isAdmin })
  const own = useQuery({ ...queries.tenant(user.tenant ?? ''), enabled: !isAdmin })
  const bounds = own.data?.self_service
  const mayCreate = can('create_key') && (isAdmin || bounds !== undefined)
  return (
    <>
      <PageHead
        title="API Keys"
        actions={
          mayCreate && (
            <button type="button" className="button primary" onClick={() => filter({ new: 'yes' })}>
              New key
            </button>
          )
        }
      >
        {isAdmin
          ? 'What applications call the gateway with, and what they may do.'
          : `The keys of ${user.tenant}.${bounds ? ` Up to ${bounds.max_keys} of them are your own.` : ''}`}
      </PageHead>
      <ListFilters filters={filters} filter={filter}>
        <ChoiceField
          label="State"
          value={filters.state}
          options={STATES}
          onChange={state => filter({ state })}
        />
        {isAdmin && (
          <TextFilter label="Tenant" value={filters.tenant} onChange={tenant => filter({ tenant })} />
        )}
        <ChoiceField label="Use" value={filters.use} options={USES} onChange={use => filter({ use })} />
      </ListFilters>
      <PagedTable
        label="Keys"
        query={keys}
        keyOf={({ name }) => name}
        empty={
          Object.values(filters).join('') === ''
            ? 'There is no key yet. A key is what an application sends to the gateway.'
            : 'Nothing matches the filters.'
        }
        columns={[
          {
            head: 'Key',
            cell: ({ name, display_name: display }) => (
              <>
                <Link to="/keys/$name" params={{ name }}>
                  {name}
                </Link>
                {display !== undefined && <span className="second">{display}</span>}
              </>
            ),
          },
          {
            head: 'State',
            cell: ({ state, expires_at: at }) => (
              <>
                <State state={state} />
                {at !== undefined && state !== 'expired' && (
                  <span className="second">expires {ago(at, now)}</span>
                )}
              </>
            ),
          },
          ...(isAdmin
            ? [
                {
                  head: 'Tenant',
                  cell: ({ tenant }: Shapes['key_shown']) => (
                    <span className="short">{tenant ?? 'platform'}</span>
                  ),
                  hidden: 'phone' as const,
                },
              ]
            : []),
          {
            head: 'Models',
            cell: ({ models }) => modelsText(models),
            hidden: 'tablet',
          },
          {
            head: 'Secret',
            cell: ({ secret: { created_at: at, active } }) =>
              at === undefined ? (
                'none'
              ) : (
                <span className="short">
                  {ago(at, now)}
                  {active > 1 && `, ${active} active`}
                </span>
              ),
            hidden: 'tablet',
          },
          {
            head: 'Last used',
            cell: ({ last_used_at: at }) => (
              <span className="short">{at === undefined ? NONE : lastUse(at, now)}</span>
            ),
            hidden: 'phone',
          },
          {
            head: 'Owner',
            cell: ({ owner, set }) => <Owner owner={owner} {...(set !== undefined && { set })} />,
            hidden: 'tablet',
          },
        ]}
      />
      {filters.new === 'yes' && mayCreate && (
        <ResourceForm
          kind="key"
          title="New key"
          fields={isAdmin ? keyFields(tenants.data?.map(({ name }) => name) ?? []) : ownKeyFields()}
          preset={isAdmin ? { kind: 'tenant' } : { kind: 'tenant', tenant: user.tenant }}
          {...(!isAdmin && { namePrefix: `${user.tenant}/` })}
          onClose={() => filter({ new: '' })}
          onDone={name => void navigate({ to: '/keys/$name', params: { name } })}
        />
      )}
    </>
  )
}
