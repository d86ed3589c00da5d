import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { dataOf } from '../api/client.ts'
import { useConsole, useSession } from '../api/context.ts'
import { type PlaygroundCall, useRun } from '../api/playground.ts'
import { shellQuoted } from '../api/shell.ts'
import { Code } from '../ui/copy.tsx'
import { Verdict } from '../ui/decision.tsx'
import { ChoiceField, Field, TextField } from '../ui/fields.tsx'
import { useFilters } from '../ui/filters.tsx'
import { useGatewayUrl } from '../ui/gateway-url.ts'
import { Empty, Failure, PageHead, Section } from '../ui/page.tsx'
import { RunView } from '../ui/run-view.tsx'

type Path = PlaygroundCall['path']

const PATHS: readonly { readonly value: Path; readonly label: string }[] = [
  { value: '/v1/chat/completions', label: 'Chat completions' },
  { value: '/v1/messages', label: 'Messages' },
  { value: '/v1/responses', label: 'Responses' },
  { value: '/v1/completions', label: 'Text completions' },
  { value: '/v1/embeddings', label: 'Embeddings' },
]

/** A call through the real gateway: what an application would get, and what it would cost. */
export function Playground() {
  const { queries, api } = useConsole()
  const { can } = useSession()
  const [{ model, other, path }, setChosen] = useFilters({
    model: '',
    other: '',
    path: PATHS[0]?.value ?? '',
  })
  const [secret, setSecret] = useState('')
  const [prompt, setPrompt] = useState('Say hello in one sentence.')
  const [maxTokens, setMaxTokens] = useState('256')
  const [isStream, setStream] = useState(true)
  const { data: names = [] } = useQuery(queries.modelNames())
  const left = useRun(api)
  const right = useRun(api)
  const gateway = useGatewayUrl()
  const body = (of: string) =>
    bodyOf(path as Path, { model: of, prompt, maxTokens: Number(maxTokens), isStream })
  const why = useMutation({
    mutationFn: () => dataOf(api.POST('/api/v1/why', { body: { secret, model, path: path as Path } })),
  })
  const isRunning = [left, right].some(({ run }) => run?.state === 'running')
  const send = () => {
    why.reset()
    void left.send({ secret, path: path as Path, body: body(model) })
    if (other === '') right.clear()
    else void right.send({ secret, path: path as Path, body: body(other) })
  }
  const hasStream = path !== '/v1/embeddings'
  return (
    <>
      <PageHead title="Playground">
        A real call through the gateway: it counts against the limits of the key, and is charged.
      </PageHead>
      <div className="playground">
        <Section title="Call">
          <form
            className="stack"
            onSubmit={event => {
              event.preventDefault()
              send()
            }}
          >
            <TextField
              label="Secret of a key"
              type="password"
              autoComplete="off"
              required
              value={secret}
              onChange={setSecret}
              hint="Kept in this page until you leave it."
            />
            <div className="pair">
              <TextField
                label="Model"
                required
                list="playground-models"
                autoComplete="off"
                value={model}
                onChange={value => setChosen({ model: value })}
              />
              <TextField
                label="Second model"
                list="playground-models"
                autoComplete="off"
                placeholder="no other model"
                value={other}
                onChange={value => setChosen({ other: value })}
              />
            </div>
            <datalist id="playground-models">
              {names.map(name => (
                <option key={name}>{name}</option>
              ))}
            </datalist>
            <Field label={hasStream ? 'Message' : 'Text'}>
              {control => (
                <textarea
                  {...control}
                  rows={5}
                  value={prompt}
                  onChange={event => setPrompt(event.target.value)}
                />
              )}
            </Field>
            <div className="pair">
              <ChoiceField
                label="Path"
                value={path}
                options={PATHS}
                onChange={value => setChosen({ path: value })}
              />
              {hasStream && (
                <TextField
                  label="Max. output tokens"
                  type="number"
                  min={1}
                  value={maxTokens}
                  onChange={setMaxTokens}
                />
              )}
            </div>
            {hasStream && (
              <label className="check">
                <input
                  type="checkbox"
                  checked={isStream}
                  onChange={event => setStream(event.target.checked)}
                />
                As a stream
              </label>
            )}
            <div className="actions">
              <button type="submit" className="button primary" disabled={isRunning}>
                Send
              </button>
              {isRunning && (
                <button
                  type="button"
                  className="button"
                  onClick={() => {
                    left.stop()
                    right.stop()
                  }}
                >
                  Stop
                </button>
              )}
              {can('explain_secret') && (
                <button
                  type="button"
                  className="button"
                  disabled={secret === '' || model === '' || why.isPending}
                  onClick={() => why.mutate()}
                >
                  Why?
                </button>
              )}
            </div>
          </form>
          <details>
            <summary>The same with curl</summary>
            <Code label="The same with curl" text={curlOf(gateway, path, body(model || 'MODEL'))} />
          </details>
        </Section>
        <div className="runs">
          {why.error && <Failure error={why.error} />}
          {why.data?.decision && <Verdict decision={why.data.decision} />}
          {left.run || right.run ? (
            [left.run, right.run].map(
              (run, index) =>
                run && (
                  // Both may be of one model.
                  // oxlint-disable-next-line react/no-array-index-key
                  <Section key={index} title={run.model}>
                    <RunView run={run} />
                  </Section>
                ),
            )
          ) : (
            <Section title="Answer">
              <Empty>
                The answer comes here as the gateway sends it, with its times, tokens and cost. A second model
                gets the same call at the same time.
              </Empty>
            </Section>
          )}
        </div>
      </div>
    </>
  )
}

interface Wanted {
  readonly model: string
  readonly prompt: string
  readonly maxTokens: number
  readonly isStream: boolean
}

/** The body of a call with one message, in the form of its path. */
function bodyOf(path: Path, { model, prompt, maxTokens, isStream }: Wanted): PlaygroundCall['body'] {
  const stream = isStream ? { stream: true } : {}
  const messages = [{ role: 'user', content: prompt }]
  if (path === '/v1/embeddings') return { model, input: prompt }
  if (path === '/v1/completions') return { model, prompt, max_tokens: maxTokens, ...stream }
  if (path === '/v1/responses') return { model, input: prompt, max_output_tokens: maxTokens, ...stream }
  return { model, messages, max_tokens: maxTokens, ...stream }
}

function curlOf(gateway: string, path: string, body: object): string {
  return `curl ${gateway}${path} \\
  -H "authorization: Bearer $GW_KEY" \\
  -H 'content-type: application/json' \\
  -d ${shellQuoted(JSON.stringify(body))}`
}
