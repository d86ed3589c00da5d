import { expect, onTestFinished, test } from 'vitest'
import { json, sse } from '../support/answers.ts'
import { gate } from '../support/gate.ts'
import { BASIC_SECRETS, basicConfig, testGateway } from '../support/gateway.ts'
import { scriptedUpstream } from '../support/scripted-upstream.ts'
import { CHAT, expectOpenaiError, post, rawHead } from './calls.ts'
import { rawClient } from './raw-client.ts'

const padded = (bytes: number) => `{"model":"ext-both","x":"${'x'.repeat(bytes)}"}`
const SMALL = padded(1_000_000)
const LARGE = padded(2_000_000)

async function scene() {
  const upstream = await scriptedUpstream(onTestFinished)
  upstream.answer(json('{"model":"x"}'))
  const gateway = await testGateway(onTestFinished, basicConfig(upstream.url), {
    secrets: BASIC_SECRETS,
    bodyMemoryBytes: 3_000_000,
  })
  return { upstream, gateway }
}

test('large bodies over the memory for them are a 503 until one has ended; small ones are served', async () => {
  const { gateway } = await scene()
  const client = await rawClient(onTestFinished, gateway.url)
  await client.write(rawHead(gateway, CHAT, [`content-length: ${LARGE.length}`]))
  await client.write(LARGE.slice(0, -1))
  await expect.poll(() => gateway.memory.usedBytes).toBe(LARGE.length - 1)
  const rejected = await post(gateway, CHAT, LARGE)
  expect(rejected.headers.get('retry-after')).toBe('5')
  await expectOpenaiError(rejected, { status: 503, type: 'server_error', code: 'unavailable' })
  expect(gateway.memory.usedBytes).toBe(LARGE.length - 1)
  expect((await post(gateway, CHAT, SMALL)).status).toBe(200)
  await client.write('}')
  expect((await client.answer()).status).toBe(200)
  expect(gateway.memory.usedBytes).toBe(0)
  expect((await post(gateway, CHAT, LARGE)).status).toBe(200)
})

test('the memory of a large body is free once it has been rejected, or its client has left', async () => {
  const { upstream, gateway } = await scene()
  for (const [body, status] of [
    [`${LARGE}x`, 400],
    [LARGE.replace('ext-both', 'none'), 404],
    [LARGE.replace('"x"', '"stream":1,"x"'), 400],
  ] as const) {
    const answer = await post(gateway, CHAT, body)
    expect(answer.status).toBe(status)
    await answer.text()
    expect(gateway.memory.usedBytes).toBe(0)
  }
  const client = await rawClient(onTestFinished, gateway.url)
  await client.write(rawHead(gateway, CHAT, [`content-length: ${LARGE.length}`]))
  await client.write(LARGE.slice(0, -1))
  await expect.poll(() => gateway.memory.usedBytes).toBe(LARGE.length - 1)
  client.reset()
  await expect.poll(() => gateway.memory.usedBytes).toBe(0)
  expect(upstream.requests).toEqual([])
})

test('the memory of a large body is free once its upstream has answered, though the stream goes on', async () => {
  const { upstream, gateway } = await scene()
  const rest = gate()
  upstream.answerNext(sse(['data: {"choices":[{"delta":{"content":"a"}}]}\n\n', rest, 'data: [DONE]\n\n']))
  const answer = await post(gateway, CHAT, LARGE.replace('"x"', '"stream":true,"x"'))
  expect(answer.status).toBe(200)
  expect(gateway.memory.usedBytes).toBe(0)
  rest.open()
  expect(await answer.text()).toContain('[DONE]')
  expect(gateway.memory.usedBytes).toBe(0)
})
