import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiFailure } from '../api/client.ts'
import { useConsole, useSession } from '../api/context.ts'
import { TextField } from '../ui/fields.tsx'
import { clockTime } from '../ui/format.ts'
import { Facts, Failure, PageHead, Section } from '../ui/page.tsx'
import { TokensView } from '../ui/tokens-view.tsx'

export function Account() {
  const { user, expires_at: end, created_at: begin } = useSession()
  const { api } = useConsole()
  const client = useQueryClient()
  const [current, setCurrent] = useState('')
  const [next, setNext] = useState('')
  const logOut = () => {
    api.end()
    return client.resetQueries({ queryKey: ['session'] })
  }
  const changing = useMutation({
    mutationFn: () =>
      api.PUT('/api/v1/session/password', { body: { current_password: current, new_password: next } }),
    onSuccess: logOut,
  })
  const leaving = useMutation({ mutationFn: () => api.DELETE('/api/v1/sessions'), onSuccess: logOut })
  const { error } = changing
  return (
    <>
      <PageHead title="Account" />
      <Section title="Session">
        <Facts
          facts={[
            ['User', user.name],
            ['Role', user.role === 'admin' ? 'administrator' : 'tenant'],
            ['Tenant', user.tenant],
            ['Since', clockTime(begin)],
            ['Ends at the latest', clockTime(end)],
          ]}
        />
        <button type="button" className="button" onClick={() => leaving.mutate()}>
          Log out everywhere
        </button>
      </Section>
      <TokensView user={user.name} />
      <Section title="Password">
        <form
          className="narrow"
          onSubmit={event => {
            event.preventDefault()
            changing.mutate()
          }}
        >
          {error && <Failure error={error} />}
          <TextField
            label="Present password"
            type="password"
            autoComplete="current-password"
            required
            value={current}
            onChange={setCurrent}
          />
          <TextField
            label="New password"
            type="password"
            autoComplete="new-password"
            required
            hint="At least 8 characters. It ends every session."
            error={error instanceof ApiFailure ? error.fieldError('/new_password') : undefined}
            value={next}
            onChange={setNext}
          />
          <button type="submit" className="button primary" disabled={changing.isPending}>
            Change the password
          </button>
        </form>
      </Section>
    </>
  )
}
