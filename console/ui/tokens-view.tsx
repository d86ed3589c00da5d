import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { dataOf, type Shapes } from '../api/client.ts'
import { useConsole, useSession } from '../api/context.ts'
import { ConfirmButton } from './confirm-button.tsx'
import { Code } from './copy.tsx'
import { CreateDialog } from './create-dialog.tsx'
import { ChoiceField, TextField } from './fields.tsx'
import { ago, day } from './format.ts'
import { useNow } from './now.ts'
import { Section } from './page.tsx'
import { SecretDialog } from './secret-dialog.tsx'
import { PagedTable } from './table.tsx'

type Issued = Shapes['issued_token']

/** Tokens for scripts and CI. @param user only those of this user. */
export function TokensView({ user }: { readonly user?: string }) {
  const { queries, api } = useConsole()
  const { can } = useSession()
  const client = useQueryClient()
  const now = useNow()
  const tokens = useInfiniteQuery(queries.tokens(user))
  const [isCreating, setCreating] = useState(false)
  const [issued, setIssued] = useState<Issued>()
  const revoke = async (id: string) => {
    await api.DELETE('/api/v1/tokens/{name}', { params: { path: { name: id } } })
    await client.invalidateQueries({ queryKey: ['tokens'] })
  }
  return (
    <Section
      title="API tokens"
      note="for scripts and CI, without a password"
      actions={
        can('create_token') && (
          <button type="button" className="button" onClick={() => setCreating(true)}>
            New token
          </button>
        )
      }
    >
      <PagedTable
        label="API tokens"
        query={tokens}
        keyOf={({ id }) => id}
        empty="There is no token."
        columns={[
          { head: 'Token', cell: ({ name }) => name },
          ...(user === undefined
            ? [{ head: 'User', cell: ({ user: owner }: Shapes['token']) => owner }]
            : []),
          {
            head: 'Scope',
            cell: ({ scope, tenant }) => (tenant === undefined ? scope : `${scope}, ${tenant}`),
          },
          {
            head: 'Last used',
            cell: ({ last_used_at: at }) => (at === undefined ? 'never' : ago(at, now)),
            hidden: 'phone',
          },
          { head: 'Expires', cell: ({ expires_at: at }) => day(at), hidden: 'phone' },
          {
            head: 'Actions',
            cell: ({ id, name, last_used_at: usedAt }) => (
              <ConfirmButton
                word="Revoke"
                title={`Revoke the token ${name}`}
                label={
                  <>
                    Revoke<span className="sr-only"> {name}</span>
                  </>
                }
                isDangerous
                isSmall
                act={() => revoke(id)}
              >
                <p>Scripts that use it get 401 from now on.</p>
                <p className="note">Last used: {usedAt === undefined ? 'never' : ago(usedAt, now)}.</p>
              </ConfirmButton>
            ),
          },
        ]}
      />
      {isCreating && (
        <NewToken
          onClose={() => setCreating(false)}
          onIssued={token => {
            setCreating(false)
            setIssued(token)
          }}
        />
      )}
      {issued && (
        <SecretDialog
          title={`The token ${issued.name}`}
          secret={issued.token}
          onClose={() => setIssued(undefined)}
        >
          <h3>How to use it</h3>
          <Code
            label="Example"
            text={`curl ${location.origin}/api/v1/session -H 'authorization: Bearer ${issued.token}'`}
          />
        </SecretDialog>
      )}
    </Section>
  )
}

const SCOPES = [
  { value: 'read', label: 'read: no changes' },
  { value: 'write', label: 'write: what its user may do' },
]
const SPANS = [
  { value: '7d', label: '7 days' },
  { value: '30d', label: '30 days' },
  { value: '90d', label: '90 days' },
  { value: '365d', label: '1 year' },
]

function NewToken({
  onClose,
  onIssued,
}: {
  readonly onClose: () => void
  readonly onIssued: (token: Issued) => void
}) {
  const { api, queries } = useConsole()
  const { user } = useSession()
  const isAdmin = user.role === 'admin'
  const { data: tenants = [] } = useQuery({ ...queries.tenantNames(), enabled: isAdmin })
  const [name, setName] = useState('')
  const [scope, setScope] = useState('read')
  const [span, setSpan] = useState('90d')
  const [tenant, setTenant] = useState('')
  const create = () => {
    const body = { name, scope: scope as 'read', expires_in: span, ...(tenant !== '' && { tenant }) }
    return dataOf(api.POST('/api/v1/tokens', { body }))
  }
  return (
    <CreateDialog title="New token" list="tokens" create={create} onClose={onClose} onCreated={onIssued}>
      {errorOf => (
        <>
          <TextField
            label="Purpose"
            value={name}
            onChange={setName}
            required
            autoComplete="off"
            error={errorOf('/name')}
            hint="Such as: nightly report"
          />
          <ChoiceField label="Scope" value={scope} options={SCOPES} onChange={setScope} />
          {isAdmin && (
            <ChoiceField
              label="Tenant"
              value={tenant}
              options={[
                { value: '', label: 'all' },
                ...tenants.map(value => ({ value, label: `only ${value}` })),
              ]}
              onChange={setTenant}
            />
          )}
          <ChoiceField label="Valid for" value={span} options={SPANS} onChange={setSpan} />
        </>
      )}
    </CreateDialog>
  )
}
