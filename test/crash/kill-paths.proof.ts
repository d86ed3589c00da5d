import { once } from 'node:events'
import { expect, test } from 'vitest'
import { CALL_PATHS, INFERENCE_PATHS } from '../../src/schema/paths.ts'
import { PATH_CALLS, PRICED_MODELS } from '../gateway/path-calls.ts'
import { reply } from '../support/answers.ts'
import { gate } from '../support/gate.ts'
import { gw, SECRET, scene } from './scene.ts'
import { readBooks } from './served.ts'

const CONFIG = (upstreamUrl: string): string => {
  const base = `base_url: "${upstreamUrl}/v1", served_model: served, skip_probe: true`
  return `
version: 1
endpoints:
  oai: { protocol: openai, ${base} }
  ant: { protocol: anthropic, ${base} }
x-bound: &bound [{ endpoint: oai }, { endpoint: ant }]
publications:${PRICED_MODELS}
tenants: { acme: {} }
keys: { app: { kind: tenant, tenant: acme, secret: { env: APP_KEY } } }
`
}

test('kill -9 with a call open on each path, before its answer and within: one row each, interrupted', async () => {
  const { dir, upstream, path, serve } = await scene(CONFIG)
  upstream.answer(async exchange => {
    const { streamed } = PATH_CALLS[exchange.request.path as keyof typeof PATH_CALLS]
    const isWithin = exchange.request.header('x-within') !== undefined
    const headers = { 'content-type': streamed.contentType }
    await reply({ headers, framing: 'chunked', body: isWithin ? [streamed.begin, gate()] : [gate()] })(
      exchange,
    )
  })
  const { child, url } = await serve()
  const opened = CALL_PATHS.flatMap(callPath =>
    [false, true].map(async isWithin => {
      const { contentType, bytes } = PATH_CALLS[callPath].body(isWithin)
      const answering = fetch(url + callPath, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${SECRET}`,
          'content-type': contentType,
          ...(isWithin && { 'x-within': '1' }),
        },
        body: bytes,
      })
      // A Response that is not read is collected as garbage, which closes its connection: the client would have left.
      if (!isWithin) return { end: answering.then(answer => answer.arrayBuffer()).then(ignore, ignore) }
      const answer = await answering
      const reader = answer.body?.getReader()
      expect((await reader?.read())?.done).toBe(false)
      return {
        end: reader?.read().then(ignore, ignore) ?? Promise.resolve(),
      }
    }),
  )
  const calls = await Promise.all(opened)
  while (upstream.requests.length < CALL_PATHS.length * 2) await upstream.nextRequest()
  const billed = INFERENCE_PATHS.filter(({ dialect }) => dialect !== undefined).map(each => each.path)
  // Holds overlap the dispatch, and are folded into the store within a tenth of a second.
  await expect.poll(async () => (await readBooks(path)).open).toBe(billed.length * 2)
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
  await Promise.all(calls.map(({ end }) => end))

  expect(await readBooks(path)).toMatchObject({ open: billed.length * 2 })
  const after = await serve()
  const { booked, open } = await readBooks(path)
  expect(open).toBe(0)
  expect(booked.size).toBe(billed.length * 2)
  for (const { ends } of booked.values()) {
    expect(ends).toHaveLength(1)
    expect(ends[0]).toMatchObject({ kind: 'settle', flags: 'interrupted,estimated', output: 0 })
  }
  // As for a client that leaves before the first byte.
  const charges = [...booked.values()].map(({ publication, ends }) => `${publication} ${ends[0]?.amountNano}`)
  expect([...new Set(charges)].filter(charge => !charge.startsWith('text ')).sort()).toEqual([
    'drawn 0',
    'heard 200000',
    'judged 300000',
    'ranked 0',
    'spoken 300000',
  ])
  expect(charges).not.toContain('text 0')
  const ended = once(after.child, 'exit')
  after.child.kill('SIGTERM')
  await ended
  expect(await gw(dir, ['ledger', 'verify'])).toEqual({
    exit: 0,
    stdout: expect.stringContaining('all sums match'),
  })
})

function ignore(): void {}
