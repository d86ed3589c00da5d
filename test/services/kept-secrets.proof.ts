import { randomBytes } from 'node:crypto'
import { readdirSync, rmSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { createLog } from '../../src/base/log.ts'
import { systemRandom } from '../../src/base/random.ts'
import { serve } from '../../src/server/serve.ts'
import { exportConfiguration, planConfiguration } from '../../src/services/configuration.ts'
import { credentialsInUse, masterKeyDiagnosis, storeDiagnoses } from '../../src/services/doctor/store.ts'
import { probeEndpoints } from '../../src/services/probe.ts'
import { withCommandStore } from '../../src/services/stored.ts'
import { json } from '../support/answers.ts'
import { scriptedUpstream } from '../support/scripted-upstream.ts'
import { tempDir } from '../support/temp-dir.ts'
import { CONTROL_THREADS, wholeGateway } from '../support/whole-gateway.ts'

const OPTIONS = { timeoutMs: 5_000, onProgress: () => undefined }
const ports = (cwd: string) => ({
  environment: {},
  cwd,
  clock: systemClock,
  random: systemRandom,
  readStdin: () => Promise.resolve(Buffer.alloc(0)),
  signal: new AbortController().signal,
})
const PASSWORD = 'correct horse battery'
const SILENT = { level: 'silent', pretty: false, colour: false } as const

/** A gateway that serves one key and no model yet, and an upstream to tell it of over REST. */
async function setUp(environment: Readonly<Record<string, string>> = {}) {
  const dir = tempDir(onTestFinished)
  const upstream = await scriptedUpstream(onTestFinished)
  upstream.answer(json({ data: [{ embedding: [1] }], usage: { prompt_tokens: 1, total_tokens: 1 } }))
  const file = dir.write('gw.yaml', 'version: 1\nkeys: { app: { kind: platform } }\n')
  const all = { GW_ADMIN_PASSWORD: PASSWORD, ...environment }
  const start = () => wholeGateway(onTestFinished, file, all, dir.path)
  return { dir, upstream, start, gateway: await start() }
}

/** What an administrator does at a control plane. */
async function admin(controlUrl: string) {
  const send = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    const answer = await fetch(`${controlUrl}/api/v1${path}`, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const shown = (await answer.json()) as { readonly token: string; readonly code: string }
    return { status: answer.status, etag: answer.headers.get('etag') ?? '', body: shown }
  }
  const session = await send('POST', '/session', { username: 'admin', password: PASSWORD })
  const own = { authorization: `Bearer ${session.body.token}` }
  return (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    send(method, path, body, { ...own, ...headers })
}

const endpoint = (url: string, key: string) => ({
  name: 'embedder',
  protocol: 'openai',
  base_url: `${url}/v1`,
  served_model: 'm',
  skip_probe: true,
  upstream_key: key,
})

async function embed(gatewayUrl: string, secret: string): Promise<number> {
  const answer = await fetch(`${gatewayUrl}/v1/embeddings`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}` },
    body: JSON.stringify({ model: 'e', input: 'x' }),
  })
  await answer.arrayBuffer()
  return answer.status
}

test('a credential that was given over REST is what the upstream is sent, also after the next one and a restart', async () => {
  const { dir, upstream, start, gateway } = await setUp()
  const secret = await gateway.issue('app')
  const ask = await admin(gateway.controlUrl)
  expect(readdirSync(dir.path)).not.toContain('gw.db.key')
  expect((await ask('POST', '/endpoints', endpoint(upstream.url, 'sk-first'))).status).toBe(201)
  expect((await ask('POST', '/publications', { name: 'e' })).status).toBe(201)
  const bound = gateway.logged('"revision":4,')
  expect((await ask('POST', '/bindings', { publication: 'e', endpoint: 'embedder' })).status).toBe(201)
  await bound
  expect(await embed(gateway.gatewayUrl, secret)).toBe(200)
  expect(upstream.lastRequest.header('authorization')).toBe('Bearer sk-first')

  const { etag } = await ask('GET', '/endpoints/embedder')
  const rotated = gateway.logged('"revision":5,')
  const patch = { upstream_key: 'sk-second' }
  expect((await ask('PATCH', '/endpoints/embedder', patch, { 'if-match': etag })).status).toBe(200)
  await rotated
  expect(await embed(gateway.gatewayUrl, secret)).toBe(200)
  expect(upstream.lastRequest.header('authorization')).toBe('Bearer sk-second')
  expect(readdirSync(dir.path)).toContain('gw.db.key')

  // It is no business of the files: what they would have to say is what they say.
  const { yaml } = await gateway.inStore(context => exportConfiguration(context, { set: undefined }))
  const exported = { ...ports(dir.path), readStdin: () => Promise.resolve(Buffer.from(yaml)) }
  expect(
    (
      await withCommandStore(gateway.store, 'read', exported, stored =>
        planConfiguration(['-'], stored, exported),
      )
    ).plan.changes,
  ).toEqual([])
  expect(yaml).not.toMatch(/embedder|stored/)

  await gateway.serving.close(0)
  const again = await start()
  expect(await embed(again.gatewayUrl, secret)).toBe(200)
  expect(upstream.lastRequest.header('authorization')).toBe('Bearer sk-second')
})

test('a gateway with another master key keeps what it serves, and says what it cannot open', async () => {
  const { dir, upstream, gateway } = await setUp({ GW_MASTER_KEY: randomBytes(32).toString('base64') })
  const elsewhere = await serve(
    { store: gateway.store, control: { host: '127.0.0.1', port: 0 } },
    {
      environment: { GW_MASTER_KEY: randomBytes(32).toString('hex') },
      cwd: dir.path,
      clock: systemClock,
      random: systemRandom,
      log: createLog({ write: () => undefined }, SILENT),
      threadsUrl: CONTROL_THREADS,
    },
  )
  onTestFinished(() => elsewhere.close(0))
  const rejected = gateway.logged('"cannot serve revision"')
  const ask = await admin(elsewhere.controlUrl ?? '')
  expect((await ask('POST', '/endpoints', endpoint(upstream.url, 'sk-sealed-elsewhere'))).status).toBe(201)
  expect(await rejected).toContain(
    'endpoint embedder: upstream_key: this master key does not open the credential that was set over REST',
  )
  const health = await fetch(`${gateway.gatewayUrl}/health`)
  expect(await health.json()).toMatchObject({ status: 'degraded', revision: 1 })
  expect(gateway.log.join('')).not.toContain('sk-sealed-elsewhere')
  const doctor = async (environment: Readonly<Record<string, string>>) => {
    const { diagnoses: _, standing } = await storeDiagnoses(gateway.store, {
      ...ports(dir.path),
      environment,
    })
    const kept = standing ? credentialsInUse(standing.live) : []
    return masterKeyDiagnosis(gateway.store, { ...ports(dir.path), environment }, kept)
  }
  expect(await doctor({ GW_MASTER_KEY: randomBytes(32).toString('hex') })).toMatchObject({
    state: 'fail',
    found: expect.stringMatching(/embedder.*this master key does not open/),
  })
  expect(await doctor({})).toMatchObject({ state: 'fail', found: expect.stringContaining('does not exist') })
  // Its own control plane seals with its own key, and all is well.
  const repaired = gateway.logged('"revision":3,')
  const own = await admin(gateway.controlUrl)
  const { etag } = await own('GET', '/endpoints/embedder')
  const again = await own('PATCH', '/endpoints/embedder', { upstream_key: 'sk' }, { 'if-match': etag })
  expect(again.status).toBe(200)
  await repaired
  expect(await (await fetch(`${gateway.gatewayUrl}/health`)).json()).toMatchObject({
    status: 'ok',
    revision: 3,
  })
})

test('a probe, over REST and by the command line, opens what is kept, and says where it cannot', async () => {
  const { dir, upstream, gateway } = await setUp()
  const ask = await admin(gateway.controlUrl)
  upstream.answer(json({ choices: [{ message: { role: 'assistant', content: 'ok' } }] }))
  const made = await ask('POST', '/endpoints', { ...endpoint(upstream.url, 'sk-probed'), skip_probe: false })
  expect(made.status).toBe(201)
  expect(upstream.lastRequest.header('authorization')).toBe('Bearer sk-probed')
  upstream.forget()
  expect((await ask('POST', '/endpoints/embedder/probe')).body).toMatchObject({ ok: 1, failed: 0 })
  expect(upstream.lastRequest.header('authorization')).toBe('Bearer sk-probed')
  upstream.forget()
  expect(
    await withCommandStore(gateway.store, 'read', ports(dir.path), stored =>
      probeEndpoints([], undefined, stored, ports(dir.path), OPTIONS),
    ),
  ).toMatchObject([{ endpoint: 'embedder', state: 'ok' }])
  expect(upstream.lastRequest.header('authorization')).toBe('Bearer sk-probed')
  rmSync(dir.at('gw.db.key'))
  expect((await ask('POST', '/endpoints/embedder/probe')).body).toMatchObject({
    failed: 1,
    probes: [
      {
        state: 'failed',
        fault: 'secret',
        cause: expect.stringContaining('gw.db.key does not exist') as string,
        hint: expect.stringContaining('GW_MASTER_KEY') as string,
      },
    ],
  })
})
