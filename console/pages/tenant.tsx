import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import type { Shapes } from '../api/client.ts'
import { useConsole, useSession } from '../api/context.ts'
import { AuditTrail } from '../ui/audit-trail.tsx'
import { Owner, State } from '../ui/badges.tsx'
import { ChangeButton } from '../ui/change-dialog.tsx'
import { count } from '../ui/format.ts'
import { Facts, LoadedPage, PageHead, Section } from '../ui/page.tsx'
import { ResourceForm } from '../ui/resource-form.tsx'
import { PagedTable } from '../ui/table.tsx'
import { WalletView } from '../ui/wallet-view.tsx'
import { TENANT_FIELDS } from './tenant-fields.ts'
import { modelsText } from './tenants.tsx'

type Shown = Shapes['tenant_shown']

export function Tenant() {
  const { name = '' } = useParams({ strict: false })
  const { queries } = useConsole()
  const tenant = useQuery(queries.tenant(name))
  return (
    <LoadedPage name={name} crumb={{ label: 'Tenants and wallets', to: '/tenants' }} query={tenant}>
      {found => <TenantPage tenant={found} />}
    </LoadedPage>
  )
}

function TenantPage({ tenant }: { readonly tenant: Shown }) {
  const { name, owner, updated_revision: version } = tenant
  const { can } = useSession()
  const navigate = useNavigate()
  const [isEditing, setEditing] = useState(false)
  const verb = owner === 'config' ? 'Patch' : 'Edit'
  return (
    <>
      <PageHead
        title={name}
        crumbs={[{ label: 'Tenants and wallets', to: '/tenants' }]}
        actions={
          can('update_tenant') && (
            <>
              <button type="button" className="button" onClick={() => setEditing(true)}>
                {verb}
              </button>
              <ChangeButton
                className="button danger"
                change={{ action: 'delete', kind: 'tenant', name, version }}
                onDone={() => void navigate({ to: '/tenants' })}
              >
                Delete
              </ChangeButton>
            </>
          )
        }
      >
        {tenant.display_name}
      </PageHead>
      <div className="columns">
        <Settings tenant={tenant} />
        <TenantKeys tenant={name} />
      </div>
      <WalletView tenant={name} />
      <AuditTrail target={`tenant/${name}`} />
      {isEditing && (
        <ResourceForm
          kind="tenant"
          title={`${verb} ${name}`}
          fields={TENANT_FIELDS}
          resource={tenant}
          onClose={() => setEditing(false)}
        />
      )}
    </>
  )
}

function Settings({ tenant }: { readonly tenant: Shown }) {
  const { limits, self_service: own, owner, set, file, line } = tenant
  return (
    <Section title="Settings">
      <Facts
        facts={[
          ['Status', <State key="status" state={tenant.status} />],
          ['Owner', <Owner key="owner" owner={owner} {...(set !== undefined && { set })} />],
          ['Declared in', file !== undefined && <code>{`${file}:${line}`}</code>],
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
