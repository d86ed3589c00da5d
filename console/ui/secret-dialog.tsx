import { Tabs } from '@base-ui/react/tabs'
import { useState } from 'react'
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

/** How applications call the gateway with a secret. @param gateway the URL of the gateway. */
export function CallExamples({
  secret,
  model,
  gateway,
}: {
  readonly secret: string
  readonly model: string
  readonly gateway: string
}) {
  const examples = examplesOf(secret, model, gateway)
  return (
    <Tabs.Root defaultValue="curl">
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

function examplesOf(secret: string, model: string, gateway: string): Readonly<Record<string, string>> {
  return {
    curl: `curl ${gateway}/v1/chat/completions \\
  -H 'authorization: Bearer ${secret}' \\
  -H 'content-type: application/json' \\
  -d '{"model":"${model}","messages":[{"role":"user","content":"Hello!"}]}'`,
    Python: `from openai import OpenAI

client = OpenAI(base_url="${gateway}/v1", api_key="${secret}")
answer = client.chat.completions.create(
    model="${model}",
    messages=[{"role": "user", "content": "Hello!"}],
)
print(answer.choices[0].message.content)`,
    TypeScript: `import OpenAI from 'openai'

const client = new OpenAI({ baseURL: '${gateway}/v1', apiKey: '${secret}' })
const answer = await client.chat.completions.create({
  model: '${model}',
  messages: [{ role: 'user', content: 'Hello!' }],
})
console.log(answer.choices[0]?.message.content)`,
    'Claude Code': `export ANTHROPIC_BASE_URL=${gateway}
export ANTHROPIC_AUTH_TOKEN=${secret}
claude --model ${model}`,
  }
}
