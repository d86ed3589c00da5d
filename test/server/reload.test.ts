import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { withStore } from '../../src/services/stored.ts'
import type { Store } from '../../src/store/types.ts'
import { json } from '../support/answers.ts'
import { gate } from '../support/gate.ts'
import { scriptedUpstream } from '../support/scripted-upstream.ts'
import { tempDir } from '../support/temp-dir.ts'
import { type WholeGateway, wholeGateway } from '../support/whole-gateway.ts'

const upstream = await scriptedUpstream(afterAll)
const dir = tempDir(afterAll)

function config(model: string, more = ''): string {
  return dir.write(
    'gw.yaml',
    `
version: 1
endpoints:
  main: { protocol: openai, base_url: "${upstream.url}/v1", served_model: served, ${more} }
publications:
  ${model}: { bindings: [{ endpoint: main }] }
keys:
  admin: { kind: platform }
`,
  )
}

const gateway: WholeGateway = await wholeGateway(afterAll, config('before'), { MISSING_LATER: 'sk-present' })
const key = await gateway.issue('admin')

function chat(model: string): Promise<Response> {
  return fetch(`${gateway.gatewayUrl}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: JSON.stringify({ model, messages: [] }),
  })
}

function inStore<T>(work: (store: Store) => Promise<T>): Promise<T> {
  return withStore(gateway.store, 'write', { clock: systemClock, cwd: dir.path }, work)
}

async function health(url: string): Promise<Record<string, unknown>> {
  return (await (await fetch(`${url}/health`)).json()) as Record<string, unknown>
}

describe('a running gateway', () => {
  test('serves a revision that was applied elsewhere within a second, and a request at hand keeps its own', async () => {
    const held = gate()
    upstream.answerNext(async exchange => {
      await held.opened
      await json({ model: 'served', usage: { prompt_tokens: 1, completion_tokens: 1 } })(exchange)
    })
    const began = chat('before')
    await upstream.nextRequest()
    const reloaded = gateway.reloaded()
    const appliedAt = performance.now()
    const revision = await gateway.apply(config('after'))
    await reloaded
    expect(performance.now() - appliedAt).toBeLessThan(1_000)
    expect((await chat('before')).status).toBe(404)
    held.open()
    const answer = await began
    expect(answer.status).toBe(200)
    expect(await answer.json()).toMatchObject({ model: 'before' })
    expect(Number(answer.headers.get('x-gw-revision'))).toBe(revision - 1)
  })

  test('says the same revision on both servers, without a key', async () => {
    expect(await health(gateway.gatewayUrl)).toMatchObject({ status: 'ok', reload: { ok: true } })
    expect(await health(gateway.controlUrl)).toEqual(await health(gateway.gatewayUrl))
  })

  test('keeps serving the old revision when the new one cannot be served, says why, and heals', async () => {
    const servedRevision = (await health(gateway.gatewayUrl))['revision']
    const rejected = gateway.logged('cannot serve revision')
    await gateway.apply(config('never', 'upstream_key: { env: NOT_SET_ANYWHERE }'))
    const line = await rejected
    expect(line).toContain('NOT_SET_ANYWHERE')
    expect(await health(gateway.gatewayUrl)).toMatchObject({
      status: 'degraded',
      revision: servedRevision,
      reload: {
        ok: false,
        rejected_revision: Number(servedRevision) + 1,
        problems: [expect.stringContaining('NOT_SET_ANYWHERE')],
      },
    })
    upstream.answerNext(json({ model: 'served' }))
    expect((await chat('after')).status).toBe(200)

    const healed = gateway.reloaded()
    await gateway.apply(config('healed'))
    await healed
    expect(await health(gateway.gatewayUrl)).toMatchObject({
      status: 'ok',
      revision: Number(servedRevision) + 2,
    })
    upstream.answerNext(json({ model: 'served' }))
    expect((await chat('healed')).status).toBe(200)
  })

  test('lets a key out also while the newest revision is rejected', async () => {
    const rejected = gateway.logged('cannot serve revision')
    await gateway.apply(config('never', 'upstream_key: { env: NOT_SET_ANYWHERE }'))
    await rejected
    expect((await chat('unknown')).status).toBe(404)
    await gateway.disable('admin')
    await expect.poll(async () => (await chat('unknown')).status, { timeout: 5_000 }).toBe(401)
    expect(await health(gateway.gatewayUrl)).toMatchObject({ status: 'degraded', reload: { ok: false } })
    const healed = gateway.reloaded()
    await gateway.enable('admin')
    await gateway.apply(config('healed'))
    await healed
  })

  test('rejects inference as soon as maintenance is switched on, also while the newest revision is rejected', async () => {
    const rejected = gateway.logged('cannot serve revision')
    await gateway.apply(config('never', 'upstream_key: { env: NOT_SET_ANYWHERE }'))
    await rejected
    const switchedAt = performance.now()
    // The gateway may be faster than the end of the store here.
    const on = gateway.logged('"maintenance"')
    await inStore(store => store.switchMaintenanceOn({ message: 'Back at ten.' }))
    await on
    expect(performance.now() - switchedAt).toBeLessThan(1_000)
    const answer = await chat('healed')
    expect({ status: answer.status, retry: answer.headers.get('retry-after') }).toEqual({
      status: 503,
      retry: '30',
    })
    expect(await answer.json()).toMatchObject({ error: { code: 'maintenance', message: 'Back at ten.' } })
    expect(await health(gateway.gatewayUrl)).toMatchObject({
      status: 'maintenance',
      reasons: ['maintenance: Back at ten.', expect.stringMatching(/^reload_rejected: revision \d+: /)],
    })
    const off = gateway.logged('"maintenance"')
    await inStore(store => store.switchMaintenanceOff())
    await off
    expect((await chat('never')).status).toBe(404)
    const healed = gateway.reloaded()
    await gateway.apply(config('healed'))
    await healed
  })

  test('reads its secrets again when it is asked to', async () => {
    const reloaded = gateway.reloaded()
    await gateway.serving.reload()
    await reloaded
  })

  test('keeps its connections to an upstream that a revision leaves as it is', async () => {
    const connections = upstream.connectionsMade
    for (const name of ['one', 'two', 'healed']) {
      const reloaded = gateway.reloaded()
      await gateway.apply(config(name))
      await reloaded
      upstream.answerNext(json({ model: 'served' }))
      expect((await chat(name)).status).toBe(200)
    }
    expect(upstream.connectionsMade - connections).toBeLessThanOrEqual(1)
  })

  test('answers HEAD as it answers GET where its health is asked for, on both servers', async () => {
    for (const url of [gateway.gatewayUrl, gateway.controlUrl]) {
      const answer = await fetch(`${url}/health`, { method: 'HEAD' })
      expect({ status: answer.status, body: await answer.text() }).toEqual({ status: 200, body: '' })
    }
  })

  test('lets a key out as soon as it is disabled by hand', async () => {
    upstream.answerNext(json({ model: 'served' }))
    expect((await chat('healed')).status).toBe(200)
    const known = gateway.reloaded()
    await gateway.disable('admin')
    await known
    expect((await chat('healed')).status).toBe(401)
  })
})

describe('a gateway that ends', () => {
  test('tells of the requests at hand on the control plane, lets them finish, and closes it last', async () => {
    const ending = await wholeGateway(onTestFinished, config('last'))
    const secret = await ending.issue('admin')
    const held = gate()
    upstream.forget()
    upstream.answerNext(async exchange => {
      await held.opened
      await json({ model: 'served' })(exchange)
    })
    const began = fetch(`${ending.gatewayUrl}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}` },
      body: JSON.stringify({ model: 'last', messages: [] }),
    })
    await upstream.nextRequest()
    const closed = ending.serving.close(20_000)
    const answer = await fetch(`${ending.controlUrl}/health`)
    expect(answer.status).toBe(503)
    expect(await answer.json()).toMatchObject({ status: 'draining', in_flight: 1 })
    await expect(fetch(`${ending.gatewayUrl}/health`)).rejects.toThrow()
    held.open()
    expect((await began).status).toBe(200)
    await closed
    await expect(fetch(`${ending.controlUrl}/health`)).rejects.toThrow()
  })
})
