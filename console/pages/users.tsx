import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiFailure, type Shapes } from '../api/client.ts'
import { useConsole, useSession } from '../api/context.ts'
import { State } from '../ui/badges.tsx'
import { CreateDialog } from '../ui/create-dialog.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { ChoiceField, TextField } from '../ui/fields.tsx'
import { ago, clockTime } from '../ui/format.ts'
import { useNow } from '../ui/now.ts'
import { Facts, Failure, PageHead } from '../ui/page.tsx'
import { PagedTable } from '../ui/table.tsx'
import { TokensView } from '../ui/tokens-view.tsx'

type User = Shapes['user']

export function Users() {
  const { queries } = useConsole()
  const { can } = useSession()
  const now = useNow()
  const users = useInfiniteQuery(queries.users())
  const [isCreating, setCreating] = useState(false)
  const [open, setOpen] = useState<string>()
  const shown = users.data?.find(({ name }) => name === open)
  return (
    <>
      <PageHead
        title="Users and tokens"
        actions={
          can('create_user') && (
            <button type="button" className="button primary" onClick={() => setCreating(true)}>
              New user
            </button>
          )
        }
      >
        Who may log in to this console, and the tokens of scripts.
      </PageHead>
      <PagedTable
        label="Users"
        query={users}
        keyOf={({ name }) => name}
        empty="There is no user yet."
        columns={[
          {
            head: 'User',
            cell: ({ name }) => (
              <button type="button" className="button link" onClick={() => setOpen(name)}>
                {name}
              </button>
            ),
          },
          { head: 'Role', cell: ({ role }) => (role === 'admin' ? 'administrator' : 'tenant') },
          { head: 'Tenant', cell: ({ tenant }) => tenant ?? '', hidden: 'phone' },
          { head: 'State', cell: ({ enabled }) => <State state={enabled ? 'active' : 'disabled'} /> },
          { head: 'Sessions', cell: ({ sessions }) => sessions, isNumber: true, hidden: 'phone' },
          {
            head: 'Last log-in',
            cell: ({ last_login_at: at }) => (at === undefined ? 'never' : ago(at, now)),
            hidden: 'phone',
          },
        ]}
      />
      <TokensView />
      {isCreating && <NewUser onClose={() => setCreating(false)} />}
      {shown && <UserDialog user={shown} onClose={() => setOpen(undefined)} />}
    </>
  )
}

const ROLES = [
  { value: 'admin', label: 'administrator: everything' },
  { value: 'tenant', label: 'tenant: what belongs to one tenant' },
]

function NewUser({ onClose }: { readonly onClose: () => void }) {
  const { api, queries } = useConsole()
  const { data: tenants = [] } = useQuery(queries.tenantNames())
  const [name, setName] = useState('')
  const [role, setRole] = useState('tenant')
  const [tenant, setTenant] = useState('')
  const [password, setPassword] = useState('')
  const create = () => {
    const place = role === 'admin' ? { role: 'admin' as const } : { role: 'tenant' as const, tenant }
    return api.POST('/api/v1/users', { body: { name, password, ...place } })
  }
  return (
    <CreateDialog
      title="New user"
      list="users"
      create={create}
      isComplete={role === 'admin' || tenant !== ''}
      onClose={onClose}
      onCreated={onClose}
    >
      {errorOf => (
        <>
          <TextField
            label="Name"
            value={name}
            onChange={setName}
            required
            autoComplete="off"
            spellCheck={false}
            error={errorOf('/name')}
            hint="Lower-case letters, digits and . _ @ -"
          />
          <ChoiceField label="Role" value={role} options={ROLES} onChange={setRole} />
          {role === 'tenant' && (
            <ChoiceField
              label="Tenant"
              value={tenant}
              options={['', ...tenants].map(value => ({
                value,
                label: value === '' ? 'Choose …' : value,
              }))}
              onChange={setTenant}
              error={errorOf('/tenant')}
            />
          )}
          <TextField
            label="Password"
            type="password"
            autoComplete="new-password"
            value={password}
            onChange={setPassword}
            required
            error={errorOf('/password')}
            hint="At least 8 characters. The user can change it."
          />
        </>
      )}
    </CreateDialog>
  )
}

type UserAction = 'disable' | 'enable' | 'log out' | 'set password'

function UserDialog({ user, onClose }: { readonly user: User; readonly onClose: () => void }) {
  const { name, enabled, version } = user
  const { api } = useConsole()
  const session = useSession()
  const client = useQueryClient()
  const [password, setPassword] = useState('')
  const params = { path: { name } }
  const acting = useMutation({
    mutationFn: async (action: UserAction) => {
      if (action === 'log out') await api.DELETE('/api/v1/users/{name}/sessions', { params })
      else if (action === 'set password')
        await api.PUT('/api/v1/users/{name}/password', { params, body: { password } })
      else
        await api.PATCH('/api/v1/users/{name}', {
          params: { ...params, header: { 'if-match': `"${version}"` } },
          body: { enabled: action === 'enable' },
        })
    },
    onSuccess: () => setPassword(''),
    onSettled: () => client.invalidateQueries({ queryKey: ['users'] }),
  })
  const isSelf = name === session.user.name
  return (
    <Dialog title={name} isOpen onClose={onClose}>
      <div className="stack">
        {acting.error && <Failure error={acting.error} />}
        {acting.variables === 'set password' && acting.isSuccess && (
          <p className="notice good" role="status">
            The password is set, and every session of {name} has ended.
          </p>
        )}
        <Facts
          facts={[
            ['Role', user.role === 'admin' ? 'administrator' : 'tenant'],
            ['Tenant', user.tenant],
            ['State', <State key="state" state={enabled ? 'active' : 'disabled'} />],
            ['Open sessions', user.sessions],
            ['Created', clockTime(user.created_at)],
            ['Last log-in', user.last_login_at === undefined ? 'never' : clockTime(user.last_login_at)],
          ]}
        />
        {session.can('reset_password') && (
          <form
            className="inline"
            onSubmit={event => {
              event.preventDefault()
              acting.mutate('set password')
            }}
          >
            <TextField
              label="New password"
              type="password"
              autoComplete="new-password"
              value={password}
              onChange={setPassword}
              error={acting.error instanceof ApiFailure ? acting.error.fieldError('/password') : undefined}
              required
            />
            <button type="submit" className="button" disabled={acting.isPending}>
              Set
            </button>
          </form>
        )}
      </div>
      <footer className="actions foot">
        {session.can('end_user_sessions') && user.sessions > 0 && (
          <button type="button" className="button" onClick={() => acting.mutate('log out')}>
            Log out everywhere
          </button>
        )}
        {session.can('update_user') && !isSelf && (
          <button
            type="button"
            className={enabled ? 'button danger' : 'button'}
            onClick={() => acting.mutate(enabled ? 'disable' : 'enable')}
          >
            {enabled ? 'Disable' : 'Enable'}
          </button>
        )}
      </footer>
    </Dialog>
  )
}
