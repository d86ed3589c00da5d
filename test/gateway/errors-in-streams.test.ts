import { afterAll, beforeEach, expect, test } from 'vitest'
import { sse } from '../support/answers.ts'
import { BASIC_SECRETS, basicConfig, testGateway } from '../support/gateway.ts'
import { scriptedUpstream } from '../support/scripted-upstream.ts'
import { CHAT, MESSAGES, post } from './calls.ts'

const upstream = await scriptedUpstream(afterAll)
const gateway = await testGateway(afterAll, basicConfig(upstream.url), { secrets: BASIC_SECRETS })
beforeEach(() => upstream.forget())

const TEXT = 'x'.repeat(400)

test.each([
  [
    'OpenAI',
    CHAT,
    `data: {"choices":[{"delta":{"content":"${TEXT}"}}]}\n\n`,
    'data: {"error":{"message":"overloaded"}}\n\n',
  ],
  [
    'Anthropic',
    MESSAGES,
    `data: {"type":"content_block_delta","delta":{"type":"text_delta","text":"${TEXT}"}}\n\n`,
    'event: error\ndata: {"type":"error","error":{"type":"overloaded_error"}}\n\n',
  ],
])(
  'an %s upstream that tells of its error inside the stream is billed for what came, as partial',
  async (_name, path, content, shown) => {
    upstream.answerNext(sse([content, shown]))
    const answer = await post(gateway, path, { model: 'ext-both', stream: true })
    expect(await answer.text()).toBe(content + shown)
    const end = await gateway.ledger.nextEnd()
    expect(end).toMatchObject({
      kind: 'settle',
      flags: ['partial', 'estimated', 'unpriced'],
      usage: { outputTokens: 100 },
    })
    expect(gateway.limiter.openHolds).toBe(0)
  },
)

test('an upstream that tells of its error before it has written anything costs nothing', async () => {
  upstream.answerNext(sse(['data: {"error":{"message":"overloaded"}}\n\n']))
  await (await post(gateway, CHAT, { model: 'ext-both', stream: true })).text()
  expect(await gateway.ledger.nextEnd()).toMatchObject({ kind: 'release', reason: 'upstream_error' })
})

test('/health has no other method than GET and HEAD', async () => {
  const answer = await fetch(`${gateway.url}/health`, { method: 'POST' })
  expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  expect((await fetch(`${gateway.url}/health`, { method: 'HEAD' })).status).toBe(200)
})
