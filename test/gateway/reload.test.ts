import { expect, it, onTestFinished } from 'vitest'
import { json, sse } from '../support/answers.ts'
import { gate } from '../support/gate.ts'
import { testGateway } from '../support/gateway.ts'
import { scriptedUpstream } from '../support/scripted-upstream.ts'
import { CHAT, get, loggedFor, post, rawHead } from './calls.ts'
import { rawClient } from './raw-client.ts'

const config = (url: string, served: string, more = '') => `
version: 1
endpoints:
  ${served}: { protocol: openai, base_url: "${url}", served_model: ${served} }
publications:
  chat: { bindings: [{ endpoint: ${served} }] }
keys:
  admin: { kind: platform }
${more}`

it('finishes a stream on the snapshot that it began with; the next request takes the new one', async () => {
  const [one, two] = [await scriptedUpstream(onTestFinished), await scriptedUpstream(onTestFinished)]
  const gateway = await testGateway(onTestFinished, config(one.url, 'first'))
  const door = gate()
  one.answerNext(sse(['data: {"model":"first"}\n\n', door, 'data: {"model":"first"}\n\ndata: [DONE]\n\n']))
  two.answer(json('{"model":"second"}'))

  const old = await post(gateway, CHAT, { model: 'chat', stream: true })
  await gateway.reload(config(two.url, 'second'))
  const next = await post(gateway, CHAT, { model: 'chat' })
  expect([next.headers.get('x-gw-revision'), next.headers.get('x-gw-endpoint')]).toEqual(['2', 'second'])
  expect(await next.text()).toBe('{"model":"chat"}')

  door.open()
  expect([old.headers.get('x-gw-revision'), old.headers.get('x-gw-endpoint')]).toEqual(['1', 'first'])
  expect(await old.text()).toBe('data: {"model":"chat"}\n\ndata: {"model":"chat"}\n\ndata: [DONE]\n\n')
  expect(await loggedFor(gateway, old)).toMatchObject({ revision: 1, outcome: 'answered' })
})

it('decides a request whose body is still coming by the snapshot of its head', async () => {
  const upstream = await scriptedUpstream(onTestFinished)
  upstream.answer(json('{"model":"x"}'))
  const gateway = await testGateway(onTestFinished, config(upstream.url, 'first'))
  const client = await rawClient(onTestFinished, gateway.url)
  const body = '{"model":"chat"}'
  await client.write(rawHead(gateway, CHAT, [`content-length: ${body.length}`, 'expect: 100-continue']))
  await client.write(body.slice(0, 5))
  // Another request on another connection has been answered: so the head before it has been seen.
  await get(gateway, '/v1/models')
  await gateway.reload(config(upstream.url, 'second', 'settings: { maintenance: { enabled: true } }'))
  await client.write(body.slice(5))
  const answer = await client.answer()
  expect(answer.status).toBe(200)
  expect(answer.values('x-gw-revision')).toEqual(['1'])
  expect(upstream.lastRequest.json()).toEqual({ model: 'first' })
  expect((await post(gateway, CHAT, body)).status).toBe(503)
})

it('lets a key go with the revision that drops it', async () => {
  const upstream = await scriptedUpstream(onTestFinished)
  const gateway = await testGateway(onTestFinished, config(upstream.url, 'first'))
  expect((await get(gateway, '/v1/models')).status).toBe(200)
  await gateway.reload(config(upstream.url, 'first').replace('admin', 'other'))
  expect((await get(gateway, '/v1/models')).status).toBe(401)
})
