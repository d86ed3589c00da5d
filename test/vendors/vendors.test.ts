import { readFileSync } from 'node:fs'
import { describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import {
  addressParts,
  inProtocol,
  VENDORS,
  type Vendor,
  type VendorService,
  vendor,
} from '../../src/config/vendors/table.ts'
import { DEFAULT_AUTH } from '../../src/schema/endpoint.ts'
import { chosenUpstream } from '../../src/services/chosen-upstream.ts'
import { startFolder } from '../../src/services/starter.ts'
import { httpProbe } from '../../src/upstream/probe/http-probe.ts'
import { json } from '../support/answers.ts'
import { testGateway } from '../support/gateway.ts'
import { type ScriptedUpstream, scriptedUpstream } from '../support/scripted-upstream.ts'
import { tempDir } from '../support/temp-dir.ts'

const MODEL = 'some/model-1'
const KEY = 'vendor-key-0123456789'

/** What a client of the gateway sends, what the upstream's path ends with, and what it answers. */
const SERVICES: Readonly<
  Record<VendorService, { readonly path: string; readonly body: object; readonly answer: object }>
> = {
  chat: {
    path: '/chat/completions',
    body: { messages: [{ role: 'user', content: 'hi' }] },
    answer: {
      id: 'c',
      object: 'chat.completion',
      model: MODEL,
      choices: [{ index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    },
  },
  embeddings: {
    path: '/embeddings',
    body: { input: 'hi' },
    answer: {
      object: 'list',
      model: MODEL,
      data: [{ object: 'embedding', index: 0, embedding: [0.5] }],
      usage: { prompt_tokens: 1, total_tokens: 1 },
    },
  },
  rerank: {
    path: '/rerank',
    body: { query: 'hi', documents: ['ho'] },
    answer: { model: MODEL, results: [{ index: 0, relevance_score: 0.5 }], usage: { total_tokens: 2 } },
  },
  messages: {
    path: '/messages',
    body: { max_tokens: 5, messages: [{ role: 'user', content: 'hi' }] },
    answer: {
      id: 'm',
      type: 'message',
      role: 'assistant',
      model: MODEL,
      content: [{ type: 'text', text: 'hi' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 1, output_tokens: 1 },
    },
  },
  count_tokens: {
    path: '/messages/count_tokens',
    body: { messages: [{ role: 'user', content: 'hi' }] },
    answer: { input_tokens: 1 },
  },
}

/** The address of a row, its parts filled in. */
function address({ baseUrl }: Vendor): URL {
  return new URL(baseUrl.replaceAll(/\{(\w+)\}/g, 'my-$1'))
}

/** What is expected of a row, from its documented address alone. */
function expected(row: Vendor, service: VendorService) {
  const auth = row.auth ?? DEFAULT_AUTH[row.protocol]
  return {
    target: address(row).pathname.replace(/\/$/, '') + SERVICES[service].path,
    authorization: auth === 'bearer' ? `Bearer ${KEY}` : undefined,
    'x-api-key': auth === 'x-api-key' ? KEY : undefined,
  }
}

function seen(upstream: ScriptedUpstream) {
  const request = upstream.lastRequest
  return {
    target: request.target,
    authorization: request.header('authorization'),
    'x-api-key': request.header('x-api-key'),
  }
}

/** The configuration that `gw init --vendor` writes for a row, at another origin. */
async function configurationOf(row: Vendor, origin: string): Promise<string> {
  const dir = tempDir(onTestFinished)
  const baseUrl = origin + address(row).pathname
  await startFolder(dir.path, chosenUpstream({ vendor: row.id, model: MODEL, baseUrl, prices: false }))
  // A server of one's own wants a key where it was started with one.
  return readFileSync(dir.at('config/gateway.yaml'), 'utf8').replace(
    '# upstream_key: { env: NAME }',
    'upstream_key: { env: VENDOR_KEY }',
  )
}

/** An upstream that serves what the row says, below its path, and answers 404 to all else, as vendors do. */
async function serving(row: Vendor): Promise<ScriptedUpstream> {
  const upstream = await scriptedUpstream(onTestFinished)
  const answers = new Map(
    row.services.map(service => [expected(row, service).target, SERVICES[service].answer]),
  )
  upstream.answer(exchange => {
    const answer = answers.get(exchange.request.target)
    return json(answer ?? { error: { message: 'not found' } }, { status: answer ? 200 : 404 })(exchange)
  })
  return upstream
}

describe.each([...VENDORS.values()].map(row => [row.id, row] as const))('%s', (_id, row) => {
  test('is called at its documented address, with its key in the documented header, and answers', async () => {
    const upstream = await serving(row)
    const gateway = await testGateway(onTestFinished, await configurationOf(row, upstream.url), {
      secrets: { VENDOR_KEY: KEY, ...(row.keyVariable && { [row.keyVariable]: KEY }) },
    })
    expect(row.services.length).toBeGreaterThan(0)
    for (const service of row.services) {
      const { path, body } = SERVICES[service]
      const answer = await fetch(`${gateway.url}/v1${path}`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${gateway.secretOf('my-app')}`,
          'content-type': 'application/json',
        },
        body: JSON.stringify({ model: MODEL, ...body }),
      })
      expect([service, answer.status, await answer.json()]).toEqual([service, 200, SERVICES[service].answer])
      expect(seen(upstream)).toEqual(expected(row, service))
      expect(upstream.lastRequest.json()).toEqual({ model: MODEL, ...body })
    }
  })

  test('is well by `gw probe`', async () => {
    const upstream = await serving(row)
    const gateway = await testGateway(onTestFinished, await configurationOf(row, upstream.url), {
      secrets: { VENDOR_KEY: KEY, ...(row.keyVariable && { [row.keyVariable]: KEY }) },
    })
    const target = gateway.snapshot().endpoints.get(row.id)
    if (target === undefined) throw new Error('no endpoint')
    const outcome = await httpProbe({ clock: systemClock }).chat(target, { timeoutMs: 10_000 })
    const [first = 'chat'] = row.services
    expect(outcome).toMatchObject({ ok: true, service: first === 'messages' ? 'chat' : first })
    expect(seen(upstream)).toEqual(expected(row, first))
  })
})

describe('the table of vendors', () => {
  test('names every full address that a call goes to', async () => {
    const lines = [...VENDORS.values()].flatMap(row =>
      row.services.map(service => {
        const auth = row.auth ?? DEFAULT_AUTH[row.protocol]
        return `${row.id}  POST ${row.baseUrl}${SERVICES[service].path}  ${auth}`
      }),
    )
    await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('golden/addresses.txt')
  })

  test('has a page of the upstream for every row, and https for every vendor', () => {
    for (const row of VENDORS.values()) {
      expect(new URL(row.source).protocol).toBe('https:')
      if (row.kind === 'vendor') expect(address(row).protocol).toBe('https:')
      if (row.kind === 'vendor') expect(row.keyVariable).toMatch(/^[A-Z][A-Z0-9_]*$/)
    }
  })

  test('gives no row that the protocol does not serve', () => {
    const chats: readonly VendorService[] = ['messages', 'count_tokens']
    for (const { id, protocol, services } of VENDORS.values())
      for (const service of services)
        expect([id, service, chats.includes(service)]).toEqual([id, service, protocol === 'anthropic'])
  })

  test('finds the same account in another protocol', () => {
    expect(inProtocol(vendor('anthropic'), 'openai', 'chat')?.id).toBe('anthropic-openai')
    expect(inProtocol(vendor('deepseek'), 'anthropic', 'messages')?.id).toBe('deepseek-anthropic')
    expect(inProtocol(vendor('openai'), 'anthropic', 'messages')).toBe(undefined)
    expect(addressParts(vendor('vertex'))).toEqual(['location', 'project'])
  })
})
