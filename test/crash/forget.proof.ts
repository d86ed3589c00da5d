import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { sse } from '../support/answers.ts'
import { execute } from '../support/past-the-store.ts'
import { emptyDatabase } from '../support/postgres.ts'
import { OTHER_KEYS, PATH, said, scene, textOf, USAGE } from './scene.ts'

/** `gw gateways`: what it shows, and that a forgotten gateway has nothing and can do nothing. */

const CONFIG = (upstreamUrl: string): string => `
version: 1
endpoints: { oai: { protocol: openai, base_url: "${upstreamUrl}/v1", served_model: served, skip_probe: true } }
publications: { m: { price: { input: "1", output: "10" }, bindings: [{ endpoint: oai }] } }
tenants: { acme: {} }
keys: { one: { kind: tenant, tenant: acme, secret: { env: PERMITS_KEY }, limits: { concurrency: 1 } } }
`

const PATIENT = { timeout: 15_000 }

interface Listed {
  readonly id: string
  readonly name: string | null
  readonly state: string
  readonly shares: number | null
  readonly open_calls: number
}

async function setUp(storeUrl?: string) {
  const { run, upstream, serve } = await scene(CONFIG, storeUrl)
  const held = Promise.withResolvers<void>()
  upstream.answer(async exchange => {
    const { user } = exchange.request.json() as { user: string }
    const events = [
      `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'word ' } }] })}\n\n`,
      `data: ${JSON.stringify({ choices: [], usage: USAGE })}\n\n`,
      'data: [DONE]\n\n',
    ] as const
    const [first, ...rest] = events
    await sse(user === 'HELD' ? [first, held.promise, ...rest] : [...events])(exchange)
  })
  const list = async () =>
    (JSON.parse((await run(['gateways', 'list', '--format', 'json'])).stdout) as { data: Listed[] }).data
  const forget = async (id: string, ...flags: string[]) => {
    const { exit, stdout } = await run(['gateways', 'forget', id, ...flags, '--format', 'json'])
    return { exit, document: JSON.parse(stdout) as Record<string, unknown> }
  }
  const verify = async () => expect(await run(['ledger', 'verify'])).toMatchObject({ exit: 0 })
  const logs = async () =>
    (await run(['logs', '--format', 'json'])).stdout
      .split('\n')
      .filter(line => line !== '')
      .map(line => JSON.parse(line) as { outcome: string; flags?: string[] })
  return { run, serve, held, list, forget, verify, logs }
}

function post(url: string, user: string): Promise<Response> {
  const body = JSON.stringify({ model: 'm', stream: true, max_tokens: USAGE.completion_tokens, user })
  const authorization = `Bearer ${OTHER_KEYS['PERMITS_KEY']}`
  return fetch(url + PATH, { method: 'POST', headers: { authorization }, body })
}

test('on SQLite a gateway that was killed is forgotten at once, with its open calls settled; one that is there is not', async () => {
  const { serve, list, forget, verify, logs } = await setUp()
  const { child, url } = await serve()
  const stream = await post(url, 'HELD')
  expect(stream.status).toBe(200)
  const lost = stream.text().catch(() => 'lost')
  const name = expect.stringContaining(`:${child.pid}`)
  const alive = { name, state: 'alive', open_calls: 1, shares: null }
  await expect.poll(list, PATIENT).toEqual([expect.objectContaining(alive)])
  const [{ id }] = (await list()) as [Listed]
  // Nothing but the end of its process ends its right to write.
  expect(await forget(id, '--force')).toMatchObject({ exit: 4, document: { error: { code: 'GW2013' } } })
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
  expect(await lost).toBe('lost')
  const document = { id, forgotten: true, open_calls: 1, shares: 0 }
  expect(await forget(id)).toEqual({ exit: 0, document })
  expect(await list()).toEqual([])
  expect(await forget(id)).toMatchObject({ exit: 4, document: { error: { code: 'GW4005' } } })
  expect(await logs()).toEqual([expect.objectContaining({ outcome: 'interrupted' })])
  await verify()
})

test('on PostgreSQL a gateway that is stopped is forgotten by force: others have its limits at once, and it ends when it goes on', async () => {
  const { url } = await emptyDatabase(onTestFinished)
  const { serve, list, forget, verify, logs, held } = await setUp(url)
  const stopped = await serve()
  const other = await serve()
  const stream = await post(stopped.url, 'HELD')
  expect(stream.status).toBe(200)
  expect((await post(other.url, 'APP')).status).toBe(429)
  const of = async (pid: number | undefined) => (await list()).find(({ name }) => name?.endsWith(`:${pid}`))
  await expect.poll(() => of(stopped.child.pid), PATIENT).toMatchObject({ open_calls: 1, shares: 1 })
  const { id } = (await of(stopped.child.pid)) as Listed
  expect(await forget(id)).toMatchObject({ exit: 4, document: { error: { code: 'GW2013' } } })
  stopped.child.kill('SIGSTOP')
  expect(await forget(id, '--force')).toMatchObject({ exit: 0, document: { open_calls: 1, shares: 1 } })
  expect((await list()).map(({ name }) => name)).toEqual([expect.stringContaining(`:${other.child.pid}`)])
  // Its connection is accepted by the kernel, and served when the process goes on.
  const late = post(stopped.url, 'APP').then(
    ({ status }) => status,
    () => 'rejected',
  )
  await expect.poll(async () => (await post(other.url, 'APP')).status, PATIENT).toBe(200)
  const exited = once(stopped.child, 'exit')
  stopped.child.kill('SIGCONT')
  expect([503, 'rejected']).toContain(await late)
  held.resolve()
  await stream.text().catch(() => 'cut')
  const [code] = (await exited) as [number | null]
  expect(code, textOf(stopped.child)).toBeGreaterThan(0)

  // Started again, it is another gateway. No gateway serves when it is killed.
  const ended = once(other.child, 'exit')
  other.child.kill('SIGTERM')
  expect(await ended).toEqual([0, null])
  const again = await serve()
  expect((await post(again.url, 'APP')).status).toBe(200)
  const [{ id: newId }] = (await list()) as [Listed]
  expect(newId).not.toBe(id)
  const killed = once(again.child, 'exit')
  again.child.kill('SIGKILL')
  await killed
  expect(await forget(newId)).toMatchObject({ exit: 0, document: { open_calls: 0 } })
  expect(await list()).toEqual([])
  expect((await logs()).filter(({ outcome }) => outcome === 'interrupted')).toHaveLength(1)
  await verify()
})

test('on PostgreSQL a gateway whose limits others have taken over ends, and its open streams end whole and billed', async () => {
  const { url } = await emptyDatabase(onTestFinished)
  const { serve, verify, logs, held } = await setUp(url)
  const { child, url: gatewayUrl } = await serve()
  const stream = await post(gatewayUrl, 'HELD')
  expect(stream.status).toBe(200)
  const exited = once(child, 'exit')
  const stopping = said(child, 'Stopping: ')
  await execute(url, 'update instances set is_fenced = 1')
  expect(await stopping).toContain('others have taken its limits over')
  held.resolve()
  expect(await stream.text()).toContain('[DONE]')
  expect((await exited)[0], textOf(child)).toBeGreaterThan(0)
  expect(await logs()).toEqual([expect.objectContaining({ outcome: 'answered' })])
  await verify()
})
