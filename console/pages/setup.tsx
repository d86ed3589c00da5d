import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { publisher } from '../api/changes.ts'
import { dataOf } from '../api/client.ts'
import { useConsole } from '../api/context.ts'
import { ChoiceField, TextField } from '../ui/fields.tsx'
import { useFilters } from '../ui/filters.tsx'
import { Failure, Loaded, PageHead } from '../ui/page.tsx'
import { CallStep } from './setup-call.tsx'
import { EndpointStep } from './setup-endpoint.tsx'

/** The names of the created resources. They are in the address, so that a reload of the page goes on at the same step. */
const START = { endpoint: '', model: '', key: '', path: '/v1/chat/completions' }
type Go = (change: Partial<typeof START>) => void

/** Four steps from the address of a model server to an answered and billed call. */
export function Setup() {
  const [made, go] = useFilters(START)
  // Only in memory, because it is shown once.
  const [secret, setSecret] = useState('')
  const at = made.endpoint === '' ? 1 : made.model === '' ? 2 : made.key === '' ? 3 : 4
  return (
    <>
      <PageHead
        title="Setup"
        actions={
          at > 1 && (
            <button
              type="button"
              className="button"
              onClick={() => {
                setSecret('')
                go(START)
              }}
            >
              Start over
            </button>
          )
        }
      >
        From the address of a model server to an answered and billed call.
      </PageHead>
      <ol className="steps">
        <Step
          number={1}
          at={at}
          title="Endpoint"
          note="The model server or vendor account that answers."
          done={<Link to={`/endpoints/${encodeURIComponent(made.endpoint)}`}>{made.endpoint}</Link>}
        >
          <EndpointStep onMade={go} />
        </Step>
        <Step
          number={2}
          at={at}
          title="Model"
          note="The name that applications use, its price, and its binding to the endpoint."
          done={<Link to={`/publications/${encodeURIComponent(made.model)}`}>{made.model}</Link>}
        >
          <ModelStep endpoint={made.endpoint} go={go} />
        </Step>
        <Step
          number={3}
          at={at}
          title="Key"
          note="What an application sends to the gateway."
          done={<Link to={`/keys/${encodeURIComponent(made.key)}`}>{made.key}</Link>}
        >
          <KeyStep go={go} onIssued={setSecret} />
        </Step>
        <Step number={4} at={at} title="Call" note="As an application makes it." done={undefined}>
          <CallStep
            model={made.model}
            keyName={made.key}
            path={made.path}
            secret={secret}
            onIssued={setSecret}
          />
        </Step>
      </ol>
    </>
  )
}

function Step({
  number,
  at,
  title,
  note,
  done,
  children,
}: {
  readonly number: number
  /** The number of the current step. */
  readonly at: number
  readonly title: string
  readonly note: string
  /** A link to the created resource, shown when the step is done. */
  readonly done: ReactNode
  readonly children: ReactNode
}) {
  const state = number < at ? 'done' : number === at ? 'present' : 'later'
  return (
    <li className={`step ${state}`} aria-current={state === 'present' ? 'step' : undefined}>
      <span className="step-mark" aria-hidden="true">
        {state === 'done' ? '✓' : number}
      </span>
      <section className="step-body" aria-label={title}>
        <header>
          <h2>{title}</h2>
          {state === 'done' ? done : <span className="note">{note}</span>}
        </header>
        {state === 'present' && children}
      </section>
    </li>
  )
}

function ModelStep({ endpoint, go }: { readonly endpoint: string; readonly go: Go }) {
  const { queries } = useConsole()
  return (
    <Loaded query={useQuery(queries.endpoint(endpoint))}>
      {({ served_model: proposed }) => <ModelForm endpoint={endpoint} proposed={proposed ?? ''} go={go} />}
    </Loaded>
  )
}

/** @param proposed must be known at the first render: a later value would overwrite the user's input. */
function ModelForm({
  endpoint,
  proposed,
  go,
}: {
  readonly endpoint: string
  readonly proposed: string
  readonly go: Go
}) {
  const { api } = useConsole()
  const client = useQueryClient()
  const [name, setName] = useState(proposed)
  const [input, setInput] = useState('')
  const [output, setOutput] = useState('')
  const [publish] = useState(() => publisher(api))
  const creating = useMutation({
    mutationFn: () => {
      const price = { ...(input !== '' && { input }), ...(output !== '' && { output }) }
      const fields = Object.keys(price).length > 0 ? { price } : {}
      return publish({ action: 'create', kind: 'publication', name, fields, bindTo: endpoint })
    },
    onSuccess: async () => {
      await client.invalidateQueries()
      go({ model: name })
    },
  })
  return (
    <form
      className="stack"
      onSubmit={event => {
        event.preventDefault()
        creating.mutate()
      }}
    >
      <div className="form">
        <TextField
          label="Model name"
          value={name}
          onChange={setName}
          required
          autoComplete="off"
          spellCheck={false}
          hint="Applications send it as “model”."
        />
        <div className="pair">
          <TextField
            label="Price: input"
            value={input}
            onChange={setInput}
            inputMode="decimal"
            placeholder="free"
            hint="For a million tokens."
          />
          <TextField
            label="Price: output"
            value={output}
            onChange={setOutput}
            inputMode="decimal"
            placeholder="free"
            hint="For a million tokens."
          />
        </div>
      </div>
      {creating.error && <Failure error={creating.error} />}
      <div className="actions">
        <button type="submit" className="button primary" disabled={creating.isPending}>
          Publish and bind it
        </button>
        <span className="note">
          It is listed at once, and served by <strong>{endpoint}</strong>.
        </span>
      </div>
    </form>
  )
}

function KeyStep({ go, onIssued }: { readonly go: Go; readonly onIssued: (secret: string) => void }) {
  const { api, queries } = useConsole()
  const client = useQueryClient()
  const { data: tenants = [] } = useQuery(queries.tenantNames())
  const [name, setName] = useState('first-key')
  const [tenant, setTenant] = useState('')
  const [made, setMade] = useState<string>()
  const creating = useMutation({
    mutationFn: async () => {
      if (made !== name) {
        const place = tenant === '' ? { kind: 'platform' } : { kind: 'tenant', tenant }
        await api.POST('/api/v1/keys', { body: { name, ...place } as never })
        setMade(name)
      }
      return dataOf(api.POST('/api/v1/keys/{name}/issue', { params: { path: { name } } }))
    },
    onSuccess: async ({ secret }) => {
      onIssued(secret)
      go({ key: name })
      await client.invalidateQueries({ queryKey: ['keys'] })
    },
  })
  return (
    <form
      className="stack"
      onSubmit={event => {
        event.preventDefault()
        creating.mutate()
      }}
    >
      <div className="form">
        <TextField
          label="Key name"
          value={name}
          onChange={setName}
          required
          autoComplete="off"
          spellCheck={false}
        />
        <ChoiceField
          label="Tenant"
          value={tenant}
          options={[
            { value: '', label: 'none: a platform key, for tests' },
            ...tenants.map(value => ({ value, label: value })),
          ]}
          onChange={setTenant}
          hint="Whose key it is, and who pays."
        />
      </div>
      {creating.error && <Failure error={creating.error} />}
      <div className="actions">
        <button type="submit" className="button primary" disabled={creating.isPending}>
          Create the key and its secret
        </button>
      </div>
    </form>
  )
}
