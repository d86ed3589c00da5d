import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Shapes } from '../api/client.ts'
import { useConsole, useSession } from '../api/context.ts'
import { State } from '../ui/badges.tsx'
import { ConfirmButton } from '../ui/confirm-button.tsx'
import { TextField } from '../ui/fields.tsx'
import { clockTime, count } from '../ui/format.ts'
import { Facts, Loaded, PageHead, Section } from '../ui/page.tsx'

type Shown = Shapes['maintenance']

export function Maintenance() {
  const { queries } = useConsole()
  const maintenance = useQuery(queries.maintenance())
  return (
    <>
      <PageHead title="Maintenance">
        While it is on, every call answers 503. The console stays available.
      </PageHead>
      <Loaded query={maintenance}>{found => <Switch shown={found} />}</Loaded>
    </>
  )
}

function Switch({ shown }: { readonly shown: Shown }) {
  const { on, message, declared, switched, file, line } = shown
  const { api, queries } = useConsole()
  const { can } = useSession()
  const client = useQueryClient()
  const { data: live } = useQuery({ ...queries.liveStats(), enabled: false })
  const [text, setText] = useState(message)
  const rate = live?.total.requests_per_second ?? 0
  const act = async () => {
    await api.PUT('/api/v1/maintenance', { body: on ? { enabled: false } : { enabled: true, message: text } })
    await client.invalidateQueries({ queryKey: ['maintenance'] })
  }
  return (
    <Section
      title="State"
      actions={
        can('set_maintenance') &&
        !declared && (
          <ConfirmButton
            key={String(on)}
            word={on ? 'Switch off' : 'Switch on'}
            title={on ? 'Serve calls again' : 'Reject every call'}
            isDangerous={!on}
            act={act}
          >
            <p>
              {on
                ? 'All gateways serve calls again within a second.'
                : `All gateways answer 503 within a second; calls in flight end as usual.${rate > 0 ? ` ${count(rate)} requests a second are affected now.` : ''}`}
            </p>
            {!on && <TextField label="Message for clients" value={text} onChange={setText} />}
          </ConfirmButton>
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
    </Section>
  )
}
