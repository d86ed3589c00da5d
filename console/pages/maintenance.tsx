import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Shapes } from '../api/client.ts'
import { useConsole, useSession } from '../api/context.ts'
import { State } from '../ui/badges.tsx'
import { Dialog } from '../ui/dialog.tsx'
import { TextField } from '../ui/fields.tsx'
import { clockTime } from '../ui/format.ts'
import { Facts, Failure, Loaded, PageHead, Section } from '../ui/page.tsx'

type Shown = Shapes['maintenance']

export function Maintenance() {
  const { queries } = useConsole()
  const maintenance = useQuery(queries.maintenance())
  return (
    <>
      <PageHead title="Maintenance">While it is on, every call answers 503. The console works on.</PageHead>
      <Loaded query={maintenance}>{found => <Switch shown={found} />}</Loaded>
    </>
  )
}

function Switch({ shown }: { readonly shown: Shown }) {
  const { on, message, declared, switched, file, line } = shown
  const { can } = useSession()
  const [isAsking, setAsking] = useState(false)
  return (
    <Section
      title="State"
      actions={
        can('set_maintenance') &&
        !declared && (
          <button
            type="button"
            className={on ? 'button primary' : 'button danger'}
            onClick={() => setAsking(true)}
          >
            {on ? 'Switch off' : 'Switch on'}
          </button>
        )
      }
    >
      <Facts
        facts={[
          [
            'Calls',
            <State
              key="state"
              state={on ? 'are rejected with 503' : 'are served'}
              tone={on ? 'warn' : 'good'}
            />,
          ],
          ['Message for clients', message],
          ['Since', switched && clockTime(switched.since)],
          ['By', switched?.author],
          ['Declared in', declared && file !== undefined && <code>{`${file}:${line}`}</code>],
        ]}
      />
      {declared && <p className="note">Configuration files switch it on: it ends when they say so.</p>}
      {isAsking && <Confirm shown={shown} onClose={() => setAsking(false)} />}
    </Section>
  )
}

function Confirm({
  shown: { on, message },
  onClose,
}: {
  readonly shown: Shown
  readonly onClose: () => void
}) {
  const { api, queries } = useConsole()
  const client = useQueryClient()
  const { data: pulse } = useQuery({ ...queries.pulse(), enabled: false })
  const [text, setText] = useState(message)
  const switching = useMutation({
    mutationFn: () =>
      api.PUT('/api/v1/maintenance', { body: on ? { enabled: false } : { enabled: true, message: text } }),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ['maintenance'] })
      onClose()
    },
  })
  const rate = pulse?.total.requests_per_second ?? 0
  return (
    <Dialog
      title={on ? 'Serve calls again' : 'Reject every call'}
      isOpen
      onClose={onClose}
      actions={
        <>
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button
            type="button"
            className={on ? 'button primary' : 'button danger'}
            disabled={switching.isPending}
            onClick={() => switching.mutate()}
          >
            {on ? 'Switch off' : 'Switch on'}
          </button>
        </>
      }
    >
      <div className="stack">
        {switching.error && <Failure error={switching.error} />}
        <p>
          {on
            ? 'All gateways serve calls again within a second.'
            : `All gateways answer 503 within a second; calls in flight end as usual.${rate > 0 ? ` ${rate.toFixed(1)} requests a second are affected now.` : ''}`}
        </p>
        {!on && <TextField label="Message for clients" value={text} onChange={setText} />}
      </div>
    </Dialog>
  )
}
