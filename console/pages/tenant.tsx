import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import type { Shapes } from '../api/client.ts'
import { useConsole, useSession } from '../api/context.ts'
import { AuditTrail } from '../ui/audit-trail.tsx'
import { State } from '../ui/badges.tsx'
import { count, modelsText } from '../ui/format.ts'
import { Facts, LoadedPage, Section } from '../ui/page.tsx'
import { ownerFacts, ResourceHead } from '../ui/resource-head.tsx'
import { PagedTable } from '../ui/table.tsx'
import { WalletView } from '../ui/wallet-view.tsx'
import { TENANT_FIELDS } from './tenant-fields.ts'

type Shown = Shapes['tenant_shown']

const CRUMB = { label: 'Tenants and wallets', to: '/tenants' }

export function Tenant() {
  const { name = '' } = useParams({ strict: false })
  const { queries } = useConsole()
  const tenant = useQuery(queries.tenant(name))
  return (
    <LoadedPage name={name} crumb={CRUMB} query={tenant}>
      {found => <TenantPage tenant={found} />}
    </LoadedPage>
  )
}

function TenantPage({ tenant }: { readonly tenant: Shown }) {
  const { name } = tenant
  const { can } = useSession()
  return (
    <>
      <ResourceHead
        kind="tenant"
        resource={tenant}
        crumb={CRUMB}
        canEdit={can('update_tenant')}
        fields={TENANT_FIELDS}
      />
      <div className="columns">
        <Settings tenant={tenant} />
        <TenantKeys tenant={name} />
      </div>
      <WalletView tenant={name} />
      <AuditTrail target={`tenant/${name}`} />
    </>
  )
}

function Settings({ tenant }: { readonly tenant: Shown }) {
  const { limits, self_service: own } = tenant
  return (
    <Section title="Settings">
      <Facts
        facts={[
          ['Status', <State key="status" state={tenant.status} />],
          ...ownerFacts(tenant),
          ['Billing', tenant.billing],
          ['Models', modelsText(tenant.models)],
          ['Banned models', tenant.banned_models.join(', ')],
          ['Requests per minute', limitText(limits.rpm)],
          ['Tokens per minute', limitText(limits.tpm)],
          ['Requests at a time', limitText(limits.concurrency)],
          ['Keys of its users', own ? `up to ${own.max_keys}` : 'none'],
          ['Last changed', `revision ${tenant.updated_revision}`],
        ]}
      />
    </Section>
  )
}

function limitText(limit: number | { readonly limit: number } | undefined): string | undefined {
  if (limit === undefined) return undefined
  return count(typeof limit === 'number' ? limit : limit.limit)
}

function TenantKeys({ tenant }: { readonly tenant: string }) {
  const { queries } = useConsole()
  const keys = useInfiniteQuery(queries.keys({ tenant }))
  return (
    <Section
      title="Keys"
      actions={
        <Link to="/usage" search={{ by: 'key', tenant }}>
          Usage
        </Link>
      }
    >
      <PagedTable
        label={`Keys of ${tenant}`}
        query={keys}
        keyOf={({ name }) => name}
        empty="It has no key yet."
        columns={[
          {
            head: 'Key',
            cell: ({ name }) => (
              <Link to="/keys/$name" params={{ name }}>
                {name}
              </Link>
            ),
          },
          { head: 'State', cell: ({ state }) => <State state={state} /> },
          { head: 'Models', cell: ({ models }) => modelsText(models), hidden: 'phone' },
        ]}
      />
    </Section>
  )
}
