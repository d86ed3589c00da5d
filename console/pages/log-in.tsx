import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { useConsole } from '../api/context.ts'
import { TextField } from '../ui/fields.tsx'
import { Failure } from '../ui/page.tsx'

/** The log-in with a password, or with a one-time link. */
export function LogIn({
  note = '',
  link = '',
  onLinkUsed,
}: {
  /** Why it is shown, if not for the first time. */
  readonly note?: string
  /** The token of a link, if the page was opened with one. */
  readonly link?: string
  readonly onLinkUsed: () => void
}) {
  const { api, queries } = useConsole()
  const client = useQueryClient()
  const [username, setUsername] = useState('')
  const [password, setPassword] = useState('')
  useEffect(() => {
    document.title = 'Log in · gw'
  }, [])
  const entering = useMutation({
    mutationFn: async (by: 'password' | 'link') => {
      const { data } =
        by === 'link'
          ? await api.POST('/api/v1/session/link', { body: { link, carrier: 'cookie' } })
          : await api.POST('/api/v1/session', { body: { username, password, carrier: 'cookie' } })
      return data
    },
    onSuccess: async session => {
      api.begin(session?.csrf_token)
      onLinkUsed()
      // Not only invalidated: if it cannot be read, the session before must not be shown.
      await client.resetQueries({ queryKey: queries.session().queryKey })
    },
    onSettled: () => setPassword(''),
  })
  const isByLink = link !== '' && (entering.isIdle || entering.variables === 'link') && !entering.error
  if (isByLink)
    return (
      <main className="alone">
        <div className="log-in">
          <h1>
            <span className="brand">gw</span> console
          </h1>
          <p>This link logs you in, once.</p>
          {note !== '' && <p className="note">{note}</p>}
          <button
            type="button"
            className="button primary"
            disabled={entering.isPending}
            onClick={() => entering.mutate('link')}
          >
            {entering.isPending ? 'Logging in…' : 'Log in'}
          </button>
          <button type="button" className="button quiet" onClick={onLinkUsed}>
            Use a password
          </button>
        </div>
      </main>
    )
  return (
    <main className="alone">
      <form
        className="log-in"
        onSubmit={event => {
          event.preventDefault()
          entering.mutate('password')
        }}
      >
        <h1>
          <span className="brand">gw</span> console
        </h1>
        {entering.error && <Failure error={entering.error} />}
        {!entering.error && note !== '' && (
          <p className="notice warn" role="status">
            {note}
          </p>
        )}
        <TextField label="User" value={username} onChange={setUsername} required autoComplete="username" />
        <TextField
          label="Password"
          type="password"
          value={password}
          onChange={setPassword}
          required
          autoComplete="current-password"
        />
        <button type="submit" className="button primary" disabled={entering.isPending}>
          {entering.isPending ? 'Logging in…' : 'Log in'}
        </button>
        <p className="note">
          The first administrator: <code>gw users create NAME --role admin</code> on the machine of the store.
        </p>
      </form>
    </main>
  )
}

/** The token of a one-time link. It is taken out of the address at once, so that no history keeps it. */
export function takeLink(): string {
  const [, link = ''] = /^#link=([\w-]+)$/.exec(location.hash) ?? []
  if (link !== '') history.replaceState(history.state, '', location.pathname + location.search)
  return link
}
