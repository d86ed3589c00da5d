import { useInfiniteQuery, useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { dataOf, type Shapes } from '../api/client.ts'
import { useConsole } from '../api/context.ts'
import type { PlaygroundCall } from '../api/playground.ts'
import { ChoiceField, TextField } from '../ui/fields.tsx'
import { Failure } from '../ui/page.tsx'
import { ProbeFinding } from '../ui/probe-finding.tsx'

type Path = PlaygroundCall['path']
type Probe = Shapes['probe']

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

/** The endpoint that answers, and the path of its calls. */
interface Answering {
  readonly endpoint: string
  readonly path: Path
}

/** Finds out by a probe what an address serves, and makes an endpoint of it. */
export function EndpointStep({ onMade }: { readonly onMade: (made: Answering) => void }) {
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
  })
  const probe = probing.data
  const [listed, setListed] = useState<readonly string[]>([])
  /** An answer that comes after a change of the fields is dropped: `onSuccess` belongs to the latest call alone. */
  const startProbe = (asked: Parameters<typeof probing.mutate>[0]) =>
    probing.mutate(asked, {
      onSuccess: found => {
        setListed(found?.models ?? [])
        if (found?.state === 'ok') setModel(found.model)
      },
    })
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
      onMade({ endpoint: shownName, path: pathOf(protocol, probe) })
    },
  })
  /** What was found is about other fields. */
  const edit = (set: (value: string) => void) => (value: string) => {
    probing.reset()
    creating.reset()
    setListed([])
    set(value)
  }
  const isReady = probe?.state === 'ok'
  return (
    <form
      className="stack"
      onSubmit={event => {
        event.preventDefault()
        if (isReady) creating.mutate()
        else startProbe({ url, protocol, model })
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
              startProbe({ url, protocol, model: value })
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
              setListed([])
              startProbe({ url: fixedUrl, protocol: fixed, model })
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
              if (chosen) onMade({ endpoint: value, path: pathOf(chosen.protocol, undefined) })
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
