import { once } from 'node:events'
import { basename } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { gw } from '../cli/in-process.ts'
import { startGw } from '../cli/process.ts'
import { json, reply, sse } from '../support/answers.ts'
import { collector } from '../support/collector.ts'
import { gate } from '../support/gate.ts'
import { scriptedUpstream } from '../support/scripted-upstream.ts'
import { tempDir } from '../support/temp-dir.ts'
import { type Asked, CALLS, CHAT, COMMANDS, managing } from './asked.ts'
import { filesOf, hashOf, SLOTS, slotsIn } from './planted.ts'

/**
 * Secrets that are planted in every slot, and searched for wherever something is written: the output of commands, the
 * log, what clients and scrapers get, and each file beside the secrets' own, also after `kill -9`.
 */

const dir = tempDir(afterAll)
const secrets = tempDir(afterAll)
const upstream = await scriptedUpstream(afterAll)

const collected = await collector(afterAll)

const environment = {
  UPSTREAM_KEY: SLOTS['upstream_key, by variable'],
  REJECTED_KEY: SLOTS['upstream_key that its upstream rejects, and repeats'],
  HEADER_KEY: SLOTS['header of an endpoint, by variable'],
  REJECTED_HEADER: SLOTS['header of an endpoint that its upstream rejects, and repeats'],
  CLIENT_KEY: SLOTS['secret of a key, by variable'],
  METRICS_TOKEN: SLOTS.METRICS_TOKEN,
  GW_ADMIN_PASSWORD: SLOTS.GW_ADMIN_PASSWORD,
  GW_MASTER_KEY: SLOTS.GW_MASTER_KEY,
  OTEL_EXPORTER_OTLP_ENDPOINT: collected.url,
  OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${SLOTS.OTEL_EXPORTER_OTLP_HEADERS}`,
  OTEL_TRACES_SAMPLER: 'always_on',
  OTEL_BSP_SCHEDULE_DELAY: '50',
  GW_UNUSED: SLOTS['a variable that nothing refers to'],
  GW_DISPLAY: 'Shown to everyone',
}
/** Commands run inside this process, which saves their starts; the gateway is a process of its own. */
const world = { cwd: dir.path, environment, clock: systemClock, stdin: '' }

dir.write(
  'gw.yaml',
  `
version: 1
endpoints:
  by-variable: { protocol: openai, base_url: "${upstream.url}/v1", served_model: m, upstream_key: { env: UPSTREAM_KEY }, headers: { api-key: { env: HEADER_KEY } }, display_name: "\${GW_DISPLAY}" }
  by-file: { headers: { x-team-token: { file: "${secrets.write('header', `${SLOTS['header of an endpoint, by file']}\n`)}" } }, protocol: anthropic, base_url: "${upstream.url}/v1", served_model: m, upstream_key: { file: "${secrets.write('upstream', `${SLOTS['upstream_key, by file']}\n`)}" } }
  rejecting: { protocol: openai, base_url: "${upstream.url}/rejecting/v1", served_model: m, upstream_key: { env: REJECTED_KEY }, headers: { x-rejected: { env: REJECTED_HEADER } } }
publications:
  chat: { bindings: [{ endpoint: by-variable }], price: { input: 1, output: 10 } }
  claude: { bindings: [{ endpoint: by-file }] }
  rejected: { bindings: [{ endpoint: rejecting }] }
tenants: { acme: {} }
keys:
  minted: { kind: tenant, tenant: acme }
  by-variable: { kind: platform, secret: { env: CLIENT_KEY } }
  by-file: { kind: platform, secret: { file: "${secrets.write('client', SLOTS['secret of a key, by file'])}" } }
  by-hash: { kind: platform, hash: "${hashOf(SLOTS['secret of a key, by its hash'])}" }
`,
)

const USAGE = { prompt_tokens: 3, completion_tokens: 2 }
const WHOLE = json({
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: SLOTS['an answer'] } }],
  content: [{ type: 'text', text: SLOTS['an answer'] }],
  usage: { ...USAGE, input_tokens: 3, output_tokens: 2 },
})

const HELD = 'held'
const [holding, going] = [gate(), gate()]

/** Answers as a model does; at `/rejecting` as a server that repeats the credential which it rejects. */
upstream.answer(async exchange => {
  const { request } = exchange
  if (request.path.startsWith('/rejecting')) {
    const shown = `the key ${request.header('authorization')} or ${request.header('x-rejected')} is unknown`
    return reply({
      status: 401,
      headers: { 'content-type': 'application/json', 'x-echo': shown },
      body: JSON.stringify({ error: { message: shown } }),
    })(exchange)
  }
  const { stream, user } = request.json() as { stream?: boolean; user?: string }
  if (user === HELD) {
    holding.open()
    await going.opened
  }
  const event = { model: 'm', choices: [{ index: 0, delta: { content: SLOTS['an answer'] } }], usage: USAGE }
  return (stream ? sse([`data: ${JSON.stringify(event)}\n\n`, 'data: [DONE]\n\n']) : WHOLE)(exchange)
})

/** What was written somewhere, by where. */
const written = new Map<string, string | Buffer>()
/** Canaries that came up while the test went on: the secrets that gw minted. */
const minted: Record<string, string> = {}

it('finds each canary where it belongs: a search that finds nothing anywhere would prove nothing', () => {
  for (const [slot, secret] of Object.entries(SLOTS)) {
    for (const text of [
      `"${secret}"`,
      Buffer.from(secret).toString('base64'),
      Buffer.from(`x${secret}`).toString('hex'),
    ])
      expect(slotsIn(text), slot).toEqual([slot])
  }
})

it('a secret in any slot is found in no output, log, metric, error, health or file, also after kill -9', {
  timeout: 180_000,
}, async () => {
  await run(['apply', '--yes'], 5)
  await run(['apply', '--yes', '--skip-probe'])
  for (const what of ['issue', 'rotate']) {
    const { stdout, stderr } = await gw(['keys', what, 'minted'], world)
    minted[`the secret of keys ${what}`] = stdout.trim()
    written.set(`keys ${what}, stderr`, stderr)
  }
  expect(Object.values(minted)).toEqual([expect.stringMatching(/^gw_/), expect.stringMatching(/^gw_/)])

  // A request is at hand at the kill, so that the ledger has a hold of it.
  const first = await serveGw('first')
  await manage(first)
  await callAll(first.gateway)
  const atHand = ask(first.gateway, {
    path: CHAT,
    secret: SLOTS['secret of a key, by variable'],
    body: { model: 'chat', user: HELD },
  }).catch(() => undefined)
  await holding.opened
  await collected.exported()
  first.child.kill('SIGKILL')
  await once(first.child, 'exit')
  going.open()
  await atHand
  expectNone(filesOf(dir.path), 'after kill -9')
  for (const [index, { text, headers }] of collected.exports.entries()) {
    expect(headers.authorization).toBe(`Bearer ${SLOTS.OTEL_EXPORTER_OTLP_HEADERS}`)
    written.set(`traces, export ${index}`, text)
  }
  collected.answer(401)

  const second = await serveGw('second')
  await callAll(second.gateway)
  for (const command of COMMANDS)
    for (const format of ['text', 'json']) await run([...command, '--format', format])
  second.child.kill('SIGTERM')
  await once(second.child, 'exit')

  for (const serving of [first, second]) written.set(`log of the ${serving.name} gw serve`, serving.said())
  expect(String(written.get('log of the second gw serve'))).toContain('"error_code":"upstream_credentials"')
  expect(String(written.get('log of the second gw serve'))).toContain('traces were not exported')
  expect(written.size).toBeGreaterThan(2 * COMMANDS.length + 2 * CALLS.length)
  expectNone(written, 'what was said')
  expectNone(filesOf(dir.path), 'after the end')
  expect([...filesOf(dir.path).keys()].map(path => basename(path))).toContain('gw.db')
  // They were used: the upstream was sent the one that is its own.
  const sent = upstream.requests.map(({ headerLines }) => JSON.stringify(headerLines)).join('\n')
  expect(slotsIn(sent)).toEqual(
    Object.keys(SLOTS).filter(slot => /^upstream_key|^header of|another header/.test(slot)),
  )
})

const ASKED = 'a made-up name of a model'
/** The log of calls without an upstream names the model that was asked for, to the operator alone. */
const KEEPS_ASKED_MODELS = /gw\.db(?:-wal)?$|^logs\b/

function expectNone(places: ReadonlyMap<string, string | Buffer>, when: string): void {
  const found = [...places].flatMap(([place, text]) =>
    slotsIn(text, { ...SLOTS, ...minted })
      .filter(slot => slot !== ASKED || !KEEPS_ASKED_MODELS.test(place))
      .map(slot => `${slot} in ${place}, ${when}`),
  )
  expect(found).toEqual([])
}

async function run(command: readonly string[], exit?: number): Promise<void> {
  const ended = await gw(command, world)
  const line = command.join(' ')
  if (exit !== undefined) expect(ended.exit, `${line}: ${ended.stderr}`).toBe(exit)
  // 5 is what a probe of the rejecting endpoint ends with.
  expect([0, 5], `${line}: ${ended.stderr}`).toContain(ended.exit)
  written.set(`${line}, ${written.size}`, ended.stdout + ended.stderr)
}

async function serveGw(name: string) {
  const { child } = startGw(
    [
      'serve',
      '--listen',
      '127.0.0.1:0',
      '--control-listen',
      '127.0.0.1:0',
      '--log-level',
      'debug',
      '--drain',
      '1s',
    ],
    world,
  )
  afterAll(() => void child.kill('SIGKILL'))
  let text = ''
  const url = (of: string) =>
    new Promise<string>((resolve, reject) => {
      const look = () => {
        const [, found] = new RegExp(`${of} on (http://\\S+)`).exec(text) ?? []
        if (found !== undefined) resolve(found)
      }
      for (const stream of [child.stdout, child.stderr]) stream.on('data', look)
      child.once('close', () => reject(new Error(text)))
    })
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      text += chunk.toString()
    })
  const [gateway, control] = await Promise.all([url('Gateway'), url('Control plane')])
  for (const at of [gateway, control])
    written.set(`health at ${at}`, await (await fetch(`${at}/health`)).text())
  return { name, child, gateway, control, said: () => text }
}

/** What is given and asked over REST, in a session that is a secret as well. */
async function manage({ gateway, control }: { readonly gateway: string; readonly control: string }) {
  const send = async (method: string, path: string, body?: object, headers: Record<string, string> = {}) => {
    const answer = await fetch(`${control}/api/v1${path}`, {
      method,
      headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
    return { status: answer.status, head: JSON.stringify([...answer.headers]), body: await answer.text() }
  }
  const [username, password] = ['admin', SLOTS.GW_ADMIN_PASSWORD]
  const session = await send('POST', '/session', { username, password })
  const { token } = JSON.parse(session.body) as { readonly token: string }
  minted['the token of a session'] = token
  const bearer = { authorization: `Bearer ${token}` }
  const wrong = await send('POST', '/session', { username, password: `${password}!` })
  written.set('a log-in that fails', wrong.head + wrong.body)
  for (const [index, { status, method, path, body }] of managing(upstream.url).entries()) {
    const answer = await send(method, path, body, bearer)
    expect(answer.status, `${method} ${path}: ${answer.body}`).toBe(status)
    written.set(`${method} ${path}, ${index}`, answer.head + answer.body)
  }
  const revision = await send('GET', '/config/revisions?limit=1', undefined, bearer)
  const { data } = JSON.parse(revision.body) as { readonly data: readonly { readonly id: number }[] }
  await expect.poll(() => revisionOf(gateway)).toBe(data[0]?.id)
}

async function revisionOf(gateway: string): Promise<number> {
  const health = await fetch(`${gateway}/health`)
  return ((await health.json()) as { readonly revision: number }).revision
}

async function callAll(gateway: string): Promise<void> {
  for (const [index, each] of CALLS.entries()) {
    const answer = await ask(gateway, each)
    expect(answer.status, `${index} ${each.path}: ${answer.body}`).toBe(each.status)
    // What a model says is its client's to read, and so is the name that it asked for; everything else is ours.
    const body = answer.status === 200 ? '' : answer.body.replaceAll(SLOTS['a made-up name of a model'], '')
    written.set(`answer ${index} of ${gateway} to ${each.path.split('?', 1)[0]}`, answer.head + body)
  }
  const scrape = await ask(gateway, { path: '/metrics', secret: SLOTS.METRICS_TOKEN })
  expect(scrape.body).toContain('gw_requests_total{')
  written.set(`/metrics of ${gateway}`, scrape.head + scrape.body)
}

async function ask(gateway: string, { path, secret, body, headers = {} }: Omit<Asked, 'status'>) {
  const prompt = { messages: [{ role: 'user', content: SLOTS['a prompt'] }] }
  const answer = await fetch(gateway + path, {
    headers: { ...headers, authorization: `Bearer ${secret}` },
    ...(body && { method: 'POST', body: JSON.stringify({ ...prompt, ...body }) }),
  })
  return { status: answer.status, head: JSON.stringify([...answer.headers]), body: await answer.text() }
}
