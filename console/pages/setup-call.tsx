import { Link } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { dataOf } from '../api/client.ts'
import { useConsole } from '../api/context.ts'
import { type PlaygroundCall, useRun } from '../api/playground.ts'
import { shellQuoted } from '../api/shell.ts'
import { ConfirmButton } from '../ui/confirm-button.tsx'
import { Code } from '../ui/copy.tsx'
import { ExportDialog } from '../ui/export-dialog.tsx'
import { useGatewayUrl } from '../ui/gateway-url.ts'
import { RunView } from '../ui/run-view.tsx'

type Path = PlaygroundCall['path']

/** The first call with the new key: a curl command to copy, and a button that sends the same call. */
export function CallStep({
  model,
  keyName,
  path,
  secret,
  onIssued,
}: {
  readonly model: string
  readonly keyName: string
  readonly path: string
  readonly secret: string
  readonly onIssued: (secret: string) => void
}) {
  const { api } = useConsole()
  const gateway = useGatewayUrl()
  const { run, send } = useRun(api)
  const [isExporting, setExporting] = useState(false)
  const isServed = useIsUnchanged(secret, RELOAD_MS)
  const rotate = async () => {
    const params = { path: { name: keyName } }
    onIssued((await dataOf(api.POST('/api/v1/keys/{name}/rotate', { params, body: {} }))).secret)
  }
  if (secret === '')
    return (
      <div className="stack">
        <p>The secret of {keyName} was shown once, and this page does not have it any more.</p>
        <div className="actions">
          <ConfirmButton word="Rotate" title={`Rotate ${keyName}`} label="Make a new secret" act={rotate}>
            <p>
              Applications that have its secret get 401 at once. The page of the{' '}
              <Link to="/keys/$name" params={{ name: keyName }}>
                key
              </Link>{' '}
              rotates it with a grace.
            </p>
          </ConfirmButton>
        </div>
      </div>
    )
  const body = bodyFor(path, model)
  const isDone = run?.state === 'done' && run.status === 200
  return (
    <div className="stack">
      <p>
        The line has the secret of <strong>{keyName}</strong>, which is shown this once: copy it now. The
        store keeps only its hash.
      </p>
      <Code
        label="The call with curl"
        text={`curl ${gateway}${path} \\
  -H 'authorization: Bearer ${secret}' \\
  -H 'content-type: application/json' \\
  -d ${shellQuoted(JSON.stringify(body))}`}
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
            <Link className="button" to="/calls" search={{ key: keyName }}>
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

/** After this time every gateway has read a new secret. */
const RELOAD_MS = 1_200

/** Whether `value` has not changed for `durationMs`. */
function useIsUnchanged(value: string, durationMs: number): boolean {
  const [seen, setSeen] = useState('')
  useEffect(() => {
    const timer = setTimeout(() => setSeen(value), durationMs)
    return () => clearTimeout(timer)
  }, [durationMs, value])
  return seen === value
}

function bodyFor(path: string, model: string): PlaygroundCall['body'] {
  const text = 'Say hello in one sentence.'
  if (path === '/v1/embeddings' || path === '/v1/responses') return { model, input: text }
  if (path === '/v1/completions') return { model, prompt: text, max_tokens: 64 }
  return { model, messages: [{ role: 'user', content: text }], max_tokens: 64 }
}
