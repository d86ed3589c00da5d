import { mkdirSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { gw } from '../cli/in-process.ts'
import { json as jsonAnswer, reply } from '../support/answers.ts'
import { gate } from '../support/gate.ts'
import { scriptedUpstream } from '../support/scripted-upstream.ts'
import { tempDir } from '../support/temp-dir.ts'
import { type WholeGateway, wholeGateway } from '../support/whole-gateway.ts'

/** A running gateway is asked through its control plane, and tells what only it knows. */

const PASSWORD = 'correct horse battery'
const dir = tempDir(afterAll)
const upstream = await scriptedUpstream(afterAll)
let gateway: WholeGateway
let token: string
let secret: string

const run = (line: string, environment: Readonly<Record<string, string>> = { GW_TOKEN: token }) =>
  gw(line.split(' '), { cwd: dir.path, clock: systemClock, environment })
const why = async (question: string) =>
  JSON.parse((await run(`why --url ${gateway.controlUrl} ${question} --format json`)).stdout)
const chat = (signal?: AbortSignal) =>
  fetch(`${gateway.gatewayUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
    body: '{"model":"chat","max_tokens":5}',
    ...(signal && { signal }),
  })
/** The call is over when its whole answer has arrived: until then it counts as concurrent. */
async function whole(answer: Promise<Response>): Promise<void> {
  const response = await answer
  await response.arrayBuffer()
  expect(response.status).toBe(200)
}

beforeAll(async () => {
  const config = dir.write(
    'gw.yaml',
    `version: 1
settings: { health: { unhealthy_after: 1, probe_min: 10m, probe_max: 10m } }
endpoints:
  one: { protocol: openai, base_url: "${upstream.url}/v1", served_model: m, max_concurrency: 5 }
  two: { protocol: openai, base_url: "${upstream.url}/v1", served_model: m }
publications:
  chat: { bindings: [{ endpoint: one }, { endpoint: two, priority: 1 }] }
keys:
  app: { kind: platform, limits: { rpm: 3, concurrency: 1 } }
`,
  )
  mkdirSync(dir.at('store'))
  gateway = await wholeGateway(afterAll, config, { GW_ADMIN_PASSWORD: PASSWORD }, dir.at('store'))
  secret = await gateway.issue('app')
  const logIn = await fetch(`${gateway.controlUrl}/api/v1/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username: 'admin', password: PASSWORD }),
  })
  ;({ token } = (await logIn.json()) as { token: string })
})

describe('gw why --url', () => {
  it('sees what is under way, what was used, who is down, and takes nothing by looking', async () => {
    const idle = await why('--key app --model chat')
    expect(idle).toMatchObject({ source: 'gateway', revision: 1, unknown: [], decision: { served: true } })

    const open = gate()
    upstream.answerNext(reply({ headers: { 'content-type': 'application/json' }, body: [open, '{}'] }))
    const inFlightRequests = chat()
    await upstream.nextRequest()
    const busy = await why('--key app --model chat')
    expect(busy.decision.rejection).toMatchObject({ check: 'key_concurrency', status: 429 })
    expect(busy.decision.candidates[0]).toMatchObject({ endpoint: 'one', in_flight: 1, max_concurrency: 5 })
    open.open()
    await whole(inFlightRequests)

    upstream.answerNext(jsonAnswer({}, { status: 500 }), jsonAnswer({}))
    await whole(chat())
    const failed = await why('--key app --model chat')
    expect(failed.decision.candidates).toMatchObject([
      { endpoint: 'one', obstacle: 'unhealthy', health: 'unhealthy', share: 0 },
      { endpoint: 'two', health: 'healthy', share: 1 },
    ])

    for (let again = 0; again < 20; again++)
      expect((await why('--key app --model chat')).decision.served).toBe(true)
    upstream.answerNext(jsonAnswer({}))
    await whole(chat())
    const { decision } = await why('--key app --model chat')
    expect(decision.rejection).toMatchObject({ check: 'key_rpm', status: 429, code: 'rate_limit_requests' })
    const real = await chat()
    expect(real.status).toBe(429)
  })

  it('answers of the store alone that a gateway knows more', async () => {
    const { stdout, stderr } = await run(`why --store ${gateway.store} --key app --model chat`)
    expect(stdout).toContain('By the store, revision 1')
    expect(stderr).toBe(
      `A gateway serves this store (${gateway.gatewayUrl}): with --url its control plane has more details.\n`,
    )
  })

  it('lists models and keys, and finds a key by its secret', async () => {
    expect((await why('--key app')).models).toMatchObject([{ model: 'chat', visible: true }])
    expect((await why('--model chat')).keys).toMatchObject([{ key: 'app' }])
    const { stdout } = await gw(['why', '--url', gateway.controlUrl, '--secret', '-', '--model', 'chat'], {
      cwd: dir.path,
      clock: systemClock,
      environment: { GW_TOKEN: token },
      stdin: `${secret}\n`,
    })
    expect(stdout).toContain('key app, model chat')
    expect(gateway.log.join('\n')).not.toContain(secret)
  })

  it.each([
    ['a key that there is not', '--key ap --model chat', 4, 'GW4005', 'There is no key ap.'],
    ['a token that is none', '--key app', 1, 'GW7001', 'rejects the token (401)'],
    ['an address without a server', '--key app', 1, 'GW7001', 'does not answer'],
  ])('of %s it says so', async (title, question, exit, code, shown) => {
    const url = title.startsWith('an address') ? 'http://127.0.0.1:9' : gateway.controlUrl
    const ended = await run(`why --url ${url} ${question} --format json`, {
      GW_TOKEN: title.startsWith('a token') ? 'absent' : token,
    })
    expect(ended.exit).toBe(exit)
    const { error } = JSON.parse(ended.stdout)
    expect(error.code).toBe(code)
    expect(error.message).toContain(shown)
  })
})
