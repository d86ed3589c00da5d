import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { systemClock } from '../../src/base/clock.ts'
import { systemRandom } from '../../src/base/random.ts'
import { startDemoUpstream } from '../../src/demo/server.ts'
import { EXAMPLE_CONFIG, wholeGateway } from '../support/whole-gateway.ts'

/** Follows docs/clients.md: `npm start` serves the same configuration. */
const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const PAGE = readFileSync(new URL('../../docs/clients.md', import.meta.url), 'utf8')
const ADDRESS = 'http://127.0.0.1:8090'

const demo = await startDemoUpstream({
  host: '127.0.0.1',
  port: 0,
  paceMs: 0,
  clock: systemClock,
  random: systemRandom,
})
afterAll(() => demo.close())
const gateway = await wholeGateway(afterAll, EXAMPLE_CONFIG, { GW_DEMO_URL: demo.url })
const key = await gateway.issue('platform-test')

/** The first block of code below each heading. */
const BLOCKS: ReadonlyMap<string, string> = new Map(
  PAGE.split(/^## /m)
    .slice(1)
    .map(section => [
      section.slice(0, section.indexOf('\n')),
      /^```\w+\n(.*?)^```$/ms.exec(section)?.[1] ?? '',
    ]),
)

function block(heading: string): string {
  const text = BLOCKS.get(heading)
  if (text === undefined) throw new Error(`no heading ${heading}`)
  return text
}

/** Runs a block as it stands, but for the address. */
async function run(command: string, args: readonly string[], text: string): Promise<string> {
  const child = spawn(command, args, {
    cwd: ROOT,
    env: { PATH: process.env['PATH'], GW_KEY: key },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  let errors = ''
  let out = ''
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()))
  child.stdin.end(text.replaceAll(ADDRESS, gateway.gatewayUrl))
  const exit = await new Promise(resolve => child.once('close', resolve))
  expect([exit, errors]).toEqual([0, expect.any(String)])
  return out
}

describe('docs/clients.md, run as it stands', () => {
  test('curl, in both protocols', async () => {
    const printed = await run('bash', ['-e'], block('curl').replaceAll('curl http', 'curl -sS http'))
    expect(printed).toContain('"object":"chat.completion"')
    expect(printed).toContain('"type":"message"')
  })

  test.each(['OpenAI SDK, JavaScript', 'Anthropic SDK, JavaScript'])('%s', async heading => {
    expect(await run(process.execPath, ['--input-type=module'], block(heading))).toBe('You said: Hello!\n')
  })
})

/** What a client appends to its base URL and how it sends its key, by its own documentation. */
interface Shape {
  /** How the base URL is written in its block. */
  readonly url: RegExp
  readonly appends: '/chat/completions' | '/responses' | '/messages' | '/v1/messages'
  readonly header: 'authorization' | 'x-api-key'
  /** How the key is written. */
  readonly key: RegExp
  readonly model: RegExp
}

const PYTHON_KEY = /api_key=os\.environ\["GW_KEY"\]/
const JS_KEY = /apiKey: process\.env\.GW_KEY/

const SHAPES: Readonly<Record<string, Shape>> = {
  'OpenAI SDK, Python': {
    url: /base_url="([^"]+)"/,
    appends: '/chat/completions',
    header: 'authorization',
    key: PYTHON_KEY,
    model: /model="([^"]+)"/,
  },
  'Anthropic SDK, Python': {
    url: /base_url="([^"]+)"/,
    appends: '/v1/messages',
    header: 'x-api-key',
    key: PYTHON_KEY,
    model: /model="([^"]+)"/,
  },
  'LangChain, OpenAI models': {
    url: /base_url="([^"]+)"/,
    appends: '/chat/completions',
    header: 'authorization',
    key: PYTHON_KEY,
    model: /model="([^"]+)"/,
  },
  'LangChain, Anthropic models': {
    url: /base_url="([^"]+)"/,
    appends: '/v1/messages',
    header: 'x-api-key',
    key: PYTHON_KEY,
    model: /model="([^"]+)"/,
  },
  LlamaIndex: {
    url: /api_base="([^"]+)"/,
    appends: '/chat/completions',
    header: 'authorization',
    key: PYTHON_KEY,
    model: /model="([^"]+)"/,
  },
  LiteLLM: {
    url: /api_base="([^"]+)"/,
    appends: '/chat/completions',
    header: 'authorization',
    key: PYTHON_KEY,
    model: /model="openai\/([^"]+)"/,
  },
  'Pydantic AI': {
    url: /base_url="([^"]+)"/,
    appends: '/chat/completions',
    header: 'authorization',
    key: PYTHON_KEY,
    model: /OpenAIChatModel\("([^"]+)"/,
  },
  Instructor: {
    url: /base_url="([^"]+)"/,
    appends: '/chat/completions',
    header: 'authorization',
    key: PYTHON_KEY,
    model: /"openai\/([^"]+)"/,
  },
  'Vercel AI SDK, OpenAI models': {
    url: /baseURL: '([^']+)'/,
    appends: '/responses',
    header: 'authorization',
    key: JS_KEY,
    model: /gw\('([^']+)'\)/,
  },
  'Vercel AI SDK, Anthropic models': {
    url: /baseURL: '([^']+)'/,
    appends: '/messages',
    header: 'x-api-key',
    key: JS_KEY,
    model: /gw\('([^']+)'\)/,
  },
  'OpenAI Agents SDK, JavaScript': {
    url: /baseURL: '([^']+)'/,
    appends: '/responses',
    header: 'authorization',
    key: JS_KEY,
    model: /model: '([^']+)'/,
  },
  'Claude Code': {
    url: /ANTHROPIC_BASE_URL=(\S+)/,
    appends: '/v1/messages',
    header: 'authorization',
    key: /ANTHROPIC_AUTH_TOKEN=\$GW_KEY/,
    model: /ANTHROPIC_MODEL=(\S+)/,
  },
  Codex: {
    url: /base_url = "([^"]+)"/,
    appends: '/responses',
    header: 'authorization',
    key: /env_key = "GW_KEY"\nwire_api = "responses"/,
    model: /model = "([^"]+)"/,
  },
  'Open WebUI': {
    url: /OPENAI_API_BASE_URL=(\S+)/,
    appends: '/chat/completions',
    header: 'authorization',
    key: /OPENAI_API_KEY=\$GW_KEY/,
    model: /(?:)/, // it asks for the list
  },
  Cline: {
    url: /"Base URL": "([^"]+)"/,
    appends: '/chat/completions',
    header: 'authorization',
    key: /"API Key": "gw_…"/,
    model: /"Model ID": "([^"]+)"/,
  },
  Continue: {
    url: /apiBase: (\S+)/,
    appends: '/chat/completions',
    header: 'authorization',
    key: /apiKey: \$\{\{ secrets\.GW_KEY \}\}/,
    model: /model: (\S+)/,
  },
}

describe('docs/clients.md, checked by address, path and header', () => {
  test.each(Object.entries(SHAPES))('%s', async (heading, shape) => {
    const text = block(heading)
    expect(text).toMatch(shape.key)
    const base = shape.url.exec(text)?.[1] ?? ''
    const here = base
      .replace('http://host.docker.internal:8090', gateway.gatewayUrl)
      .replace(ADDRESS, gateway.gatewayUrl)
    expect(here.startsWith(gateway.gatewayUrl)).toBe(true)
    const isAnthropic = shape.appends.endsWith('/messages')
    const model = shape.model.exec(text)?.[1] ?? 'chat'
    // Claude Code and the SDK of Anthropic add a query for their beta features.
    const answer = await fetch(here + shape.appends + (isAnthropic ? '?beta=true' : ''), {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(shape.header === 'x-api-key' ? { 'x-api-key': key } : { authorization: `Bearer ${key}` }),
        ...(isAnthropic && {
          'anthropic-version': '2023-06-01',
          'anthropic-beta': 'some-feature-2026-01-01',
        }),
      },
      body: JSON.stringify({
        model,
        ...(shape.appends === '/responses'
          ? { input: 'Hello!' }
          : { max_tokens: 64, messages: [{ role: 'user', content: 'Hello!' }] }),
      }),
    })
    const expected = {
      '/chat/completions': { object: 'chat.completion' },
      '/responses': { object: 'response' },
      '/messages': { type: 'message' },
      '/v1/messages': { type: 'message' },
    }[shape.appends]
    expect([answer.status, await answer.json()]).toEqual([
      200,
      expect.objectContaining({ ...expected, model }),
    ])
  })

  test('the configuration of Continue is YAML with one model', () => {
    expect(parse(block('Continue'))).toMatchObject({
      schema: 'v1',
      models: [{ provider: 'openai', model: 'chat' }],
    })
  })

  test('has a check for each of its headings', () => {
    const run = ['curl', 'OpenAI SDK, JavaScript', 'Anthropic SDK, JavaScript']
    const without = ['Any other']
    expect(new Set(BLOCKS.keys())).toEqual(new Set([...run, ...Object.keys(SHAPES), ...without]))
    for (const heading of without) expect(BLOCKS.get(heading)).toBe('')
  })
})
