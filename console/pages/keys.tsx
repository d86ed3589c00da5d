import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useConsole, useSession } from '../api/context.ts'
import { Owner, State } from '../ui/badges.tsx'
import { ago, NONE } from '../ui/format.ts'
import { useNow } from '../ui/now.ts'
import { PageHead } from '../ui/page.tsx'
import { ResourceForm } from '../ui/resource-form.tsx'
import { PagedTable } from '../ui/table.tsx'
import { keyFields, ownKeyFields } from './key-fields.ts'

export function Keys() {
  const { queries } = useConsole()
  const { can, user } = useSession()
  const navigate = useNavigate()
  const now = useNow()
  const [isCreating, setCreating] = useState(false)
  const keys = useInfiniteQuery(queries.keys())
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
            <button type="button" className="button primary" onClick={() => setCreating(true)}>
              New key
            </button>
          )
        }
      >
        {isAdmin
          ? 'What applications call the gateway with, and what they may do.'
          : `The keys of ${user.tenant}.${bounds ? ` Up to ${bounds.max_keys} of them are your own.` : ''}`}
      </PageHead>
      <PagedTable
        label="Keys"
        query={keys}
        keyOf={({ name }) => name}
        empty="There is no key yet. A key is what an application sends to the gateway."
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
          { head: 'State', cell: ({ state }) => <State state={state} /> },
          { head: 'Tenant', cell: ({ tenant }) => tenant ?? 'platform', hidden: 'phone' },
          {
            head: 'Models',
            cell: ({ models }) => (models.join(', ') === '*' ? 'all' : models.join(', ')),
            hidden: 'tablet',
          },
          {
            head: 'Secret',
            cell: ({ secret: { created_at: at, active } }) =>
              at === undefined ? NONE : `${ago(at, now)}${active > 1 ? `, ${active} active` : ''}`,
            hidden: 'phone',
          },
          {
            head: 'Owner',
            cell: ({ owner, set }) => <Owner owner={owner} {...(set !== undefined && { set })} />,
            hidden: 'tablet',
          },
        ]}
      />
      {isCreating && (
        <ResourceForm
          kind="key"
          title="New key"
          fields={isAdmin ? keyFields(tenants.data?.map(({ name }) => name) ?? []) : ownKeyFields()}
          preset={isAdmin ? { kind: 'tenant' } : { kind: 'tenant', tenant: user.tenant }}
          {...(!isAdmin && { namePrefix: `${user.tenant}/` })}
          onClose={() => setCreating(false)}
          onDone={name => void navigate({ to: '/keys/$name', params: { name } })}
        />
      )}
    </>
  )
}
