import { expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { CHAT, engine, JSON_CHAT, type NodeScene, nodeScene } from './node-scene.ts'

const usageOf = (scene: NodeScene) =>
  scene.gateway.inStore(({ store }) =>
    store.accounting.usage({ by: 'endpoint', sinceMs: 0, untilMs: systemClock.nowMs() + 3_600_000 }),
  )

test('a node joins by a token, and serves calls that are answered and billed', async () => {
  const vllm = await engine(() => JSON_CHAT)
  const scene = await nodeScene()
  expect(await scene.status()).toBe(503)
  await scene.node('gpu-1', vllm.port)
  const answer = await scene.call()
  expect(answer.status).toBe(200)
  expect(await answer.json()).toEqual({ ...CHAT, model: 'qwen' })
  const call = vllm.requests.find(({ target }) => target === '/v1/chat/completions')
  expect(JSON.parse(String(call?.body))).toMatchObject({ model: 'm' })
  expect(await scene.show('gpu-1')).toMatchObject({
    state: 'connected',
    declared: true,
    labels: { pool: 'a' },
    engines: [{ name: 'vllm', state: 'up', kind: 'vllm', models: ['m'] }],
  })
  await expect
    .poll(() => scene.calls({ node: 'gpu-1' }))
    .toMatchObject([{ endpoint: 'qwen', node: 'gpu-1', outcome: 'answered', attempts: 1 }])
  expect(await scene.calls({ node: 'gpu-2' })).toEqual([])
  // 3 tokens and 2, at 1 per million each.
  const bill = { label: 'qwen', requests: 1, amountNano: 5_000n }
  await expect.poll(() => usageOf(scene)).toMatchObject([bill])
})

test('an answer that ends with the connection of its engine comes whole', async () => {
  const body = JSON.stringify(CHAT)
  const vllm = await engine(() => ({ ...JSON_CHAT, body, framing: 'close' }))
  const scene = await nodeScene()
  await scene.node('gpu-1', vllm.port)
  for (let index = 0; index < 3; index++)
    expect(await (await scene.call()).json()).toMatchObject({ choices: CHAT.choices })
})
