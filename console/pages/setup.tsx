import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useEffect, useState } from 'react'
import { publisher } from '../api/changes.ts'
import { dataOf, type Shapes } from '../api/client.ts'
import { useConsole } from '../api/context.ts'
import { type PlaygroundCall, useRun } from '../api/playground.ts'
import { Code } from '../ui/copy.tsx'
import { ExportDialog } from '../ui/export-dialog.tsx'
import { ChoiceField, TextField } from '../ui/fields.tsx'
import { useFilters } from '../ui/filters.tsx'
import { useGatewayUrl } from '../ui/gateway-url.ts'
import { Failure, PageHead } from '../ui/page.tsx'
import { ProbeFinding } from '../ui/probe-finding.tsx'
import { RunView } from '../ui/run-view.tsx'

type Path = PlaygroundCall['path']
type Probe = Shapes['probe']

/** What was made so far, in the address: the page may be loaded again in between. */
const START = { endpoint: '', model: '', key: '', path: '/v1/chat/completions' }
type Made = typeof START
type Go = (change: Partial<Made>) => void

/** From the address of a model server to an answered and billed call. */
export function Setup() {
  const [made, go] = useFilters(START)
  // In memory alone: it is shown once.
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
          <EndpointStep go={go} />
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
          <CallStep made={made} secret={secret} onIssued={setSecret} />
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
  /** The number of the present step. */
  readonly at: number
  readonly title: string
  readonly note: string
  /** What it has made, once it is behind. */
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

const PROTOCOLS = [
  { value: 'openai', label: 'OpenAI' },
  { value: 'anthropic', label: 'Anthropic' },
]

/** The paths of the kinds of answers of a probe. */
const PATH_OF: Readonly<Record<string, Path>> = {
  chat: '/v1/chat/completions',
  completions: '/v1/completions',
  responses: '/v1/responses',
  embeddings: '/v1/embeddings',
}

function EndpointStep({ go }: { readonly go: Go }) {
  const { api, queries } = useConsole()
  const client = useQueryClient()
  const existing = useInfiniteQuery(queries.endpoints())
  const [protocol, setProtocol] = useState('openai')
  const [url, setUrl] = useState('')
  const [credential, setCredential] = useState('')
  const [model, setModel] = useState('')
  const [name, setName] = useState<string>()
  const shownName = name ?? nameFrom(url)
  const probing = useMutation({
    mutationFn: async (change: {
      readonly url: string
      readonly protocol: string
      readonly model: string
    }) => {
      const { probes } = await dataOf(
        api.POST('/api/v1/endpoints/probe', {
          body: {
            protocol: change.protocol as 'openai',
            base_url: change.url,
            ...(credential !== '' && { upstream_key: credential }),
            ...(change.model !== '' && { served_model: change.model }),
          } as never,
        }),
      )
      return probes[0]
    },
    onSuccess: found => {
      if (found?.state === 'ok') setModel(found.model)
    },
  })
  const probe = probing.data
  const creating = useMutation({
    mutationFn: () =>
      dataOf(
        api.POST('/api/v1/endpoints', {
          body: {
            name: shownName,
            protocol: protocol as 'openai',
            base_url: url,
            served_model: model,
            ...(credential !== '' && { upstream_key: credential }),
          } as never,
        }),
      ),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ['endpoints'] })
      go({ endpoint: shownName, path: pathOf(protocol, probe) })
    },
  })
  /** What was found is about other fields. */
  const edit = (set: (value: string) => void) => (value: string) => {
    probing.reset()
    creating.reset()
    set(value)
  }
  const listed = probe?.models ?? []
  const isReady = probe?.state === 'ok'
  return (
    <form
      className="stack"
      onSubmit={event => {
        event.preventDefault()
        if (isReady) creating.mutate()
        else probing.mutate({ url, protocol, model })
      }}
    >
      <div className="form">
        <ChoiceField
          label="Protocol"
          value={protocol}
          options={PROTOCOLS}
          onChange={edit(setProtocol)}
          hint="What the server speaks. Nothing is translated."
        />
        <TextField
          label="Base URL"
          value={url}
          onChange={edit(setUrl)}
          required
          type="url"
          placeholder="https://api.openai.com/v1"
          hint="With its version path."
        />
        <TextField
          label="Credential"
          type="password"
          autoComplete="off"
          value={credential}
          onChange={edit(setCredential)}
          hint="Stored encrypted, and never shown. Empty if the server needs none."
        />
        {listed.length > 0 ? (
          <ChoiceField
            label="Model at the upstream"
            value={model}
            options={[...new Set([model, ...listed])].map(value => ({
              value,
              label: value === '' ? 'Choose …' : value,
            }))}
            onChange={value => {
              setModel(value)
              probing.mutate({ url, protocol, model: value })
            }}
            hint={`It lists ${listed.length === 1 ? 'one model' : `${listed.length} models`}.`}
          />
        ) : (
          <TextField
            label="Model at the upstream"
            value={model}
            onChange={edit(setModel)}
            autoComplete="off"
            spellCheck={false}
            hint="Empty: the probe takes the first one that it lists."
          />
        )}
      </div>
      <div aria-live="polite">
        {probing.error && <Failure error={probing.error} />}
        {probe && (
          <ProbeFinding
            probe={probe}
            onFix={({ base_url: fixedUrl = url, protocol: fixed = protocol }) => {
              setUrl(fixedUrl)
              setProtocol(fixed)
              probing.mutate({ url: fixedUrl, protocol: fixed, model })
            }}
          />
        )}
      </div>
      {isReady && (
        <div className="form">
          <TextField
            label="Name"
            value={shownName}
            onChange={setName}
            required
            autoComplete="off"
            spellCheck={false}
            hint="Of this endpoint, in the console and in metrics."
          />
        </div>
      )}
      {creating.error && <Failure error={creating.error} />}
      <div className="actions">
        <button
          type="submit"
          className="button primary"
          disabled={probing.isPending || creating.isPending || (isReady && shownName === '')}
        >
          {probing.isPending ? 'Probing…' : isReady ? 'Create the endpoint' : 'Probe'}
        </button>
        {!isReady && <span className="note">One minimal request. Nothing is saved yet.</span>}
      </div>
      {existing.data !== undefined && existing.data.length > 0 && (
        <div className="narrow alternative">
          <ChoiceField
            label="Or go on with an existing endpoint"
            value=""
            options={['', ...existing.data.map(each => each.name)].map(value => ({
              value,
              label: value === '' ? 'Choose …' : value,
            }))}
            onChange={value => {
              const chosen = existing.data.find(each => each.name === value)
              if (chosen) go({ endpoint: value, path: pathOf(chosen.protocol, undefined) })
            }}
          />
        </div>
      )}
    </form>
  )
}

function pathOf(protocol: string, probe: Probe | undefined): Path {
  if (protocol === 'anthropic') return '/v1/messages'
  return PATH_OF[probe?.by ?? ''] ?? '/v1/chat/completions'
}

/** `api.openai.com` → `openai`; an address without a name → `local`. */
function nameFrom(url: string): string {
  if (!URL.canParse(url)) return ''
  const { hostname } = new URL(url)
  if (/^[\d.]+$|^\[|^localhost$/.test(hostname)) return 'local'
  const parts = hostname.split('.').filter(part => part !== 'api' && part !== 'www')
  return parts.length > 1 ? (parts.at(-2) ?? '') : (parts[0] ?? '')
}

function ModelStep({ endpoint, go }: { readonly endpoint: string; readonly go: Go }) {
  const { api, queries } = useConsole()
  const client = useQueryClient()
  const { data: upstream } = useQuery(queries.endpoint(endpoint))
  const [name, setName] = useState<string>()
  const [input, setInput] = useState('')
  const [output, setOutput] = useState('')
  const [publish] = useState(() => publisher(api))
  const shownName = name ?? upstream?.served_model ?? ''
  const creating = useMutation({
    mutationFn: () => {
      const price = { ...(input !== '' && { input }), ...(output !== '' && { output }) }
      const fields = Object.keys(price).length > 0 ? { price } : {}
      return publish({ action: 'create', kind: 'publication', name: shownName, fields, bindTo: endpoint })
    },
    onSuccess: async () => {
      await client.invalidateQueries()
      go({ model: shownName })
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
          value={shownName}
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
  const tenants = useInfiniteQuery(queries.tenants())
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
            ...(tenants.data ?? []).map(each => ({ value: each.name, label: each.name })),
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

function CallStep({
  made: { model, key, path },
  secret,
  onIssued,
}: {
  readonly made: Made
  readonly secret: string
  readonly onIssued: (secret: string) => void
}) {
  const { api } = useConsole()
  const gateway = useGatewayUrl()
  const { run, send } = useRun(api)
  const [isExporting, setExporting] = useState(false)
  const isServed = useDelay(SERVED_MS, secret)
  const rotating = useMutation({
    mutationFn: () =>
      dataOf(api.POST('/api/v1/keys/{name}/rotate', { params: { path: { name: key } }, body: {} })),
    onSuccess: rotated => onIssued(rotated.secret),
  })
  if (secret === '')
    return (
      <div className="stack">
        {rotating.error && <Failure error={rotating.error} />}
        <p>The secret of {key} was shown once, and this page does not have it any more.</p>
        <div className="actions">
          <button type="button" className="button primary" onClick={() => rotating.mutate()}>
            Make a new secret
          </button>
        </div>
      </div>
    )
  const body = bodyFor(path, model)
  const isDone = run?.state === 'done' && run.status === 200
  return (
    <div className="stack">
      <p>
        The line has the secret of <strong>{key}</strong>, which is shown this once: copy it now. The store
        keeps only its hash.
      </p>
      <Code
        label="The call with curl"
        text={`curl ${gateway}${path} \\
  -H 'authorization: Bearer ${secret}' \\
  -H 'content-type: application/json' \\
  -d '${JSON.stringify(body)}'`}
      />
      <div className="actions">
        <button
          type="button"
          className={isDone ? 'button' : 'button primary'}
          disabled={!isServed || run?.state === 'running'}
          onClick={() => void send({ secret, path: path as Path, body })}
        >
          {isServed ? (run === undefined ? 'Send it' : 'Send it again') : 'The gateway reads it …'}
        </button>
      </div>
      {run && <RunView run={run} />}
      {isDone && (
        <>
          <p className="notice good">
            Answered and billed. This gateway serves {model} to every application that has the secret.
          </p>
          <div className="actions">
            <Link className="button" to="/playground" search={{ model }}>
              Playground
            </Link>
            <Link className="button" to="/calls" search={{ key }}>
              Its call
            </Link>
            <button type="button" className="button" onClick={() => setExporting(true)}>
              Export as YAML for git
            </button>
          </div>
          {isExporting && <ExportDialog onClose={() => setExporting(false)} />}
        </>
      )}
    </div>
  )
}

/** How long a gateway takes to read a new secret. */
const SERVED_MS = 1_200

/** Whether so much time has passed since the value is what it is. */
function useDelay(delayMs: number, value: string): boolean {
  const [seen, setSeen] = useState('')
  useEffect(() => {
    const timer = setTimeout(() => setSeen(value), delayMs)
    return () => clearTimeout(timer)
  }, [delayMs, value])
  return seen === value
}

function bodyFor(path: string, model: string): PlaygroundCall['body'] {
  const text = 'Say hello in one sentence.'
  if (path === '/v1/embeddings' || path === '/v1/responses') return { model, input: text }
  if (path === '/v1/completions') return { model, prompt: text, max_tokens: 64 }
  return { model, messages: [{ role: 'user', content: text }], max_tokens: 64 }
}
