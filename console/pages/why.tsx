import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Shapes } from '../api/client.ts'
import { useConsole } from '../api/context.ts'
import { State, type Tone } from '../ui/badges.tsx'
import { TextField } from '../ui/fields.tsx'
import { money, percent } from '../ui/format.ts'
import { Empty, Facts, Loaded, PageHead, Section } from '../ui/page.tsx'
import { Table } from '../ui/table.tsx'

const TONES: Readonly<Record<Shapes['why_check']['verdict'], Tone>> = {
  passes: 'good',
  rejects: 'bad',
  would_reject: 'warn',
  not_reached: 'off',
  assumed: 'off',
}

export function Why() {
  const { queries } = useConsole()
  const [key, setKey] = useState('')
  const [model, setModel] = useState('')
  const [asked, setAsked] = useState<{ readonly key: string; readonly model: string }>()
  const keys = useInfiniteQuery(queries.keys())
  const models = useInfiniteQuery(queries.models())
  return (
    <>
      <PageHead title="Why">Would this call be served now, and if not, why? No call is made.</PageHead>
      <form
        className="filters"
        onSubmit={event => {
          event.preventDefault()
          setAsked({ key, model })
        }}
      >
        <TextField label="Key" value={key} onChange={setKey} required list="why-keys" autoComplete="off" />
        <TextField
          label="Model"
          value={model}
          onChange={setModel}
          required
          list="why-models"
          autoComplete="off"
        />
        <button type="submit" className="button primary">
          Ask
        </button>
        <datalist id="why-keys">
          {keys.data?.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </datalist>
        <datalist id="why-models">
          {models.data?.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </datalist>
      </form>
      {asked ? <Decision asked={asked} /> : <Empty>Choose a key and a model.</Empty>}
    </>
  )
}

function Decision({ asked }: { readonly asked: { readonly key: string; readonly model: string } }) {
  const { queries } = useConsole()
  const explanation = useQuery(queries.why(asked))
  return (
    <Loaded query={explanation}>
      {({ decision, unknown }) =>
        decision ? (
          <>
            <Verdict decision={decision} />
            <Section title="Checks" note="in their order">
              <Table
                label="Checks of the call"
                rows={decision.checks}
                keyOf={({ check }) => check}
                empty="No check."
                columns={[
                  { head: 'Check', cell: ({ check }) => check.replaceAll('_', ' ') },
                  { head: 'Verdict', cell: ({ verdict }) => <State state={verdict} tone={TONES[verdict]} /> },
                  { head: 'Detail', cell: ({ detail }) => detail },
                ]}
              />
            </Section>
            <Section title="Endpoints">
              <Table
                label="Endpoints for the call"
                rows={decision.candidates}
                keyOf={({ endpoint }) => endpoint}
                empty="No endpoint of the model speaks the protocol of the path."
                columns={[
                  { head: 'Endpoint', cell: ({ endpoint }) => endpoint },
                  { head: 'Health', cell: ({ health }) => <State state={health} /> },
                  { head: 'Priority', cell: ({ priority }) => priority, isNumber: true },
                  { head: 'Share', cell: ({ share }) => percent(share), isNumber: true },
                  {
                    head: 'Obstacle',
                    cell: ({ obstacle, reason }) => reason ?? obstacle?.replaceAll('_', ' ') ?? '',
                    hidden: 'phone',
                  },
                ]}
              />
            </Section>
            {unknown.length > 0 && <p className="note">{unknown.join(' ')}</p>}
          </>
        ) : (
          <Empty>No decision.</Empty>
        )
      }
    </Loaded>
  )
}

function Verdict({
  decision: { served, rejection, estimate, path },
}: {
  readonly decision: Shapes['decision']
}) {
  return (
    <div className={served ? 'notice good' : 'notice bad'} role="status">
      <p>
        <strong>
          {served ? `Served at ${path}.` : `Rejected with ${rejection?.status}: ${rejection?.message}`}
        </strong>
      </p>
      {rejection?.hint !== undefined && <p>{rejection.hint}</p>}
      {estimate && (
        <Facts
          facts={[
            [
              'Reserved',
              `${money(estimate.amount)} for ${estimate.input_tokens} + ${estimate.output_tokens} tokens`,
            ],
          ]}
        />
      )}
    </div>
  )
}
