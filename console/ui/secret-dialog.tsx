import { Tabs } from '@base-ui/react/tabs'
import { useBlocker } from '@tanstack/react-router'
import { useState } from 'react'
import { shellQuoted } from '../api/shell.ts'
import { Code } from './copy.tsx'
import { Dialog } from './dialog.tsx'

/** A secret, shown once: only "I have stored it" closes the dialog, and only after it was copied or confirmed. */
export function SecretDialog({
  title,
  secret,
  children,
  onClose,
}: {
  readonly title: string
  readonly secret: string
  readonly children?: React.ReactNode
  readonly onClose: () => void
}) {
  const [isStored, setStored] = useState(false)
  useBlocker({ shouldBlockFn: () => !isStored, enableBeforeUnload: () => !isStored })
  return (
    <Dialog
      title={title}
      isOpen
      isSticky
      isWide
      onClose={onClose}
      actions={
        <>
          <label className="check">
            <input type="checkbox" checked={isStored} onChange={event => setStored(event.target.checked)} />I
            have stored it
          </label>
          <button type="button" className="button primary" disabled={!isStored} onClick={onClose}>
            Close
          </button>
        </>
      }
    >
      <p>This is shown once: the store keeps only its hash.</p>
      <Code label="Secret" text={secret} onCopied={() => setStored(true)} />
      {children}
    </Dialog>
  )
}

/** How applications call the gateway with a secret. @param gateway the URL of the gateway. @param paths where the model is served. */
export function CallExamples({
  paths = ANY,
  ...example
}: Example & {
  readonly paths?: readonly string[]
}) {
  const examples = examplesOf(example, paths)
  const [first] = Object.keys(examples)
  if (first === undefined) return <p className="note">docs/clients.md has an example of each path.</p>
  return (
    <Tabs.Root defaultValue={first}>
      <Tabs.List className="tabs" aria-label="Examples">
        {Object.keys(examples).map(name => (
          <Tabs.Tab key={name} value={name}>
            {name}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {Object.entries(examples).map(([name, text]) => (
        <Tabs.Panel key={name} value={name}>
          <Code label={`Example: ${name}`} text={text} />
        </Tabs.Panel>
      ))}
    </Tabs.Root>
  )
}

interface Example {
  readonly secret: string
  readonly model: string
  readonly gateway: string
}

const CHAT = '/v1/chat/completions'
const MESSAGES = '/v1/messages'
/** Where the models of a key are served is not known. */
const ANY = [CHAT, MESSAGES]
const HELLO = 'Hello!'

/** The members beside the model of a small request. */
const MEMBERS: Readonly<Record<string, object>> = {
  [CHAT]: { messages: [{ role: 'user', content: HELLO }] },
  [MESSAGES]: { max_tokens: 256, messages: [{ role: 'user', content: HELLO }] },
  '/v1/responses': { input: HELLO },
  '/v1/completions': { prompt: HELLO },
  '/v1/embeddings': { input: HELLO },
  '/v1/rerank': { query: HELLO, documents: ['Hello, world!', 'Goodbye!'] },
  '/v1/images/generations': { prompt: 'A greeting' },
}

function examplesOf(
  { secret, model, gateway }: Example,
  paths: readonly string[],
): Readonly<Record<string, string>> {
  const path = paths.find(each => MEMBERS[each])
  return {
    ...(path !== undefined && {
      curl: `curl ${gateway}${path} \\
  -H 'authorization: Bearer ${secret}' \\
  -H 'content-type: application/json' \\
  -d ${shellQuoted(JSON.stringify({ model, ...MEMBERS[path] }))}`,
    }),
    ...(paths.includes(CHAT) && {
      Python: `from openai import OpenAI

client = OpenAI(base_url="${gateway}/v1", api_key="${secret}")
answer = client.chat.completions.create(
    model=${JSON.stringify(model)},
    messages=[{"role": "user", "content": "${HELLO}"}],
)
print(answer.choices[0].message.content)`,
      TypeScript: `import OpenAI from 'openai'

const client = new OpenAI({ baseURL: '${gateway}/v1', apiKey: '${secret}' })
const answer = await client.chat.completions.create({
  model: ${JSON.stringify(model)},
  messages: [{ role: 'user', content: '${HELLO}' }],
})
console.log(answer.choices[0]?.message.content)`,
    }),
    ...(paths.includes(MESSAGES) && {
      'Claude Code': `export ANTHROPIC_BASE_URL=${gateway}
export ANTHROPIC_AUTH_TOKEN=${secret}
claude --model ${shellQuoted(model)}`,
    }),
  }
}
