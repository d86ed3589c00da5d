import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { gwProcess, startGw } from '../cli/process.ts'
import { freePort } from '../support/free-port.ts'
import { answers, type SceneWorld } from './scene.ts'

const SHIFTED_CLOCK = fileURLToPath(new URL('../support/shifted-clock.mjs', import.meta.url))
const HOUR_MS = 3_600_000
const DAYS = 30
/** How long ago calls were made: on each of the days, and in the hours of the last one. */
const HOURS_AGO = [
  ...Array.from({ length: DAYS - 1 }, (_, day) => (DAYS - day - 1) * 24),
  20,
  16,
  12,
  8,
  4,
  1,
]

/** Tenants, models and keys beside those of the example. */
export const HISTORY_CONFIG = `version: 1
x-demo: &demo { base_url: "\${GW_DEMO_URL}/v1", protocol: openai, served_model: demo-chat, skip_probe: true }
endpoints:
  vllm-east: { <<: *demo, labels: { site: east } }
  vllm-west: { <<: *demo, labels: { site: west } }
publications:
  chat-large:
    price: { input: "60", output: "180" }
    max_output_tokens: 4096
    bindings: [{ endpoint: vllm-east, weight: 3 }, { endpoint: vllm-west, weight: 1 }]
  chat-small:
    price: { input: "20", output: "60" }
    max_output_tokens: 4096
    bindings: [{ endpoint: vllm-west }, { endpoint: vllm-east, priority: 1 }]
tenants:
  search: { display_name: Search, limits: { rpm: 6000 } }
  support: { display_name: Support, limits: { rpm: 6000 } }
keys:
  search-api: { kind: tenant, tenant: search, limits: { rpm: 1500 }, budget: { amount: "500", per: month } }
  search-batch: { kind: tenant, tenant: search, models: ["chat-*"], limits: { rpm: 120 } }
  support-bot: { kind: tenant, tenant: support, models: [chat-small], limits: { rpm: 600, concurrency: 20 } }
`

/** Who calls what, and how often in comparison. */
const CALLERS = [
  { key: 'search-api', model: 'chat-large', share: 5 },
  { key: 'search-api', model: 'chat-small', share: 3 },
  { key: 'search-batch', model: 'chat-large', share: 2 },
  { key: 'support-bot', model: 'chat-small', share: 4 },
  { key: 'team-blue-app', model: 'chat', share: 2 },
]

/** Applies the configuration as of 30 days ago, and makes the calls of each day by a gateway whose clock is that of the day. */
export async function makeHistory(world: SceneWorld): Promise<Secrets> {
  const past = asOf(world, DAYS * 24)
  const gw = async (...argv: readonly string[]) => {
    const { exit, stdout, stderr } = await gwProcess(argv, past)
    if (exit !== 0) throw new Error(`gw ${argv.join(' ')}: ${stderr}${stdout}`)
    return stdout.trim()
  }
  await gw('apply', '-c', 'config', '--yes', '--no-input')
  const secrets = new Map<string, string>()
  for (const { key } of CALLERS) if (!secrets.has(key)) secrets.set(key, await gw('keys', 'issue', key))
  for (const [index, hours] of HOURS_AGO.entries()) {
    const port = await freePort()
    const { child, ended } = startGw(
      ['serve', '--gateway-only', '--listen', `127.0.0.1:${port}`, '--drain', '1s'],
      asOf(world, hours),
    )
    const gatewayUrl = `http://127.0.0.1:${port}`
    await answers(`${gatewayUrl}/health`)
    for (let round = 0; round < roundsOf(index); round++)
      await Promise.all(callsOf(round, 400).map(call => send(gatewayUrl, secrets, call)))
    child.kill('SIGTERM')
    await ended
  }
  return secrets
}

export type Secrets = ReadonlyMap<string, string>

/** Calls without an end, until the signal. */
export async function keepCalling(gatewayUrl: string, secrets: Secrets, signal: AbortSignal): Promise<void> {
  for (let round = 0; !signal.aborted; round++) {
    await Promise.all(callsOf(round, 10).map(call => send(gatewayUrl, secrets, call)))
    await pause(800)
  }
}

/** More at the end than at the beginning, little on each sixth and seventh day, and one round in an hour of the last day. */
function roundsOf(index: number): number {
  if (index >= DAYS - 1 || index % 7 > 4) return 1
  return 2 + Math.floor(index / 8) + ((index * 5) % 3)
}

interface Call {
  readonly key: string
  readonly model: string
  readonly words: number
}

function callsOf(round: number, words: number): readonly Call[] {
  return CALLERS.flatMap(({ key, model, share }, caller) =>
    Array.from({ length: share }, (_, at) => ({
      key,
      model,
      words: words + ((round * 7 + caller * 5 + at) % 11) * words,
    })),
  )
}

async function send(gatewayUrl: string, secrets: Secrets, { key, model, words }: Call): Promise<void> {
  const answer = await fetch(`${gatewayUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secrets.get(key)}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'word '.repeat(words) }] }),
  })
  await answer.arrayBuffer()
}

function asOf({ cwd, environment }: SceneWorld, hours: number) {
  return {
    cwd,
    environment: {
      ...environment,
      NODE_OPTIONS: `--import=${SHIFTED_CLOCK}`,
      GW_TEST_CLOCK_MS: String(-hours * HOUR_MS),
    },
  }
}
