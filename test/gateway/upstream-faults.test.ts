import { describe, expect, it, onTestFinished } from 'vitest'
import { json } from '../support/answers.ts'
import { freePort } from '../support/free-port.ts'
import { BASIC_SECRETS, basicConfig, testGateway } from '../support/gateway.ts'
import { scriptedUpstream } from '../support/scripted-upstream.ts'
import { CHAT, expectAnthropicError, expectOpenaiError, loggedFor, MESSAGES, post } from './calls.ts'
import { FAULTS } from './faults.ts'

/** Each has a gateway of its own: what one endpoint is known for would decide what becomes of the next request. */
async function scene() {
  const upstream = await scriptedUpstream(onTestFinished)
  return {
    upstream,
    gateway: await testGateway(onTestFinished, basicConfig(upstream.url), { secrets: BASIC_SECRETS }),
  }
}

describe.each(FAULTS)('$title', fault => {
  const check = (answer: Response) => {
    expect(answer.headers.get('retry-after')).toBe(fault.retryAfter ?? null)
    expect(answer.headers.get('x-should-retry')).toBe(fault.shouldRetry ?? null)
    expect(answer.headers.get('location')).toBe(null)
  }
  const message = fault.message && { message: fault.message }

  it('becomes an error in OpenAI’s shape', async () => {
    const { upstream, gateway } = await scene()
    upstream.answerNext(fault.answer)
    const answer = await post(gateway, CHAT, { model: 'ext/chat' })
    check(answer)
    const [type, code] = fault.openai
    const seen = answer.clone()
    await expectOpenaiError(answer, { status: fault.status, type, code, ...message })
    expect(await seen.text()).not.toMatch(/sk-upstream|leak|served-oai/)
    expect(upstream.requests).toHaveLength(1)
    expect(await loggedFor(gateway, answer)).toMatchObject({
      error_code: code,
      endpoint: 'oai',
      status: fault.status,
    })
  })

  it('becomes an error in Anthropic’s shape', async () => {
    const { upstream, gateway } = await scene()
    upstream.answerNext(fault.answer)
    const answer = await post(gateway, MESSAGES, { model: 'ext-claude' })
    check(answer)
    await expectAnthropicError(answer, { status: fault.status, type: fault.anthropic, ...message })
    expect(await loggedFor(gateway, answer)).toMatchObject({ endpoint: 'ant', status: fault.status })
  })
})

describe('an upstream that is not there', () => {
  it('is a 502 where the connection is refused', async () => {
    const config = basicConfig(`http://127.0.0.1:${await freePort()}`)
    const lonely = await testGateway(onTestFinished, config, { secrets: BASIC_SECRETS })
    const answer = await post(lonely, CHAT, { model: 'ext/chat' })
    await expectOpenaiError(answer, {
      status: 502,
      type: 'server_error',
      code: 'upstream_error',
    })
    expect(await loggedFor(lonely, answer)).toMatchObject({ reason: 'oai: ECONNREFUSED' })
  })

  it('is a 502 where its name cannot be resolved', async () => {
    const lonely = await testGateway(onTestFinished, basicConfig('http://upstream.invalid'), {
      secrets: BASIC_SECRETS,
    })
    await expectAnthropicError(await post(lonely, MESSAGES, { model: 'ext-claude' }), {
      status: 502,
      type: 'api_error',
    })
  })
})

describe('a connection that the upstream has closed meanwhile', () => {
  it('is not used for the next request', async () => {
    const { upstream, gateway } = await scene()
    for (let round = 0; round < 3; round++) {
      upstream.answerNext(json('{"model":"x"}'))
      expect((await post(gateway, CHAT, { model: 'ext/chat' })).status).toBe(200)
      upstream.dropConnections()
    }
  })
})
