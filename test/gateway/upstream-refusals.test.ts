import { afterAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { json, reply } from '../support/answers.ts'
import { BASIC_SECRETS, basicConfig, testGateway } from '../support/gateway.ts'
import { scriptedUpstream } from '../support/scripted-upstream.ts'
import { CHAT, loggedFor, MESSAGES, post } from './calls.ts'

const upstream = await scriptedUpstream(afterAll)
const gateway = await testGateway(afterAll, basicConfig(upstream.url), { secrets: BASIC_SECRETS })
beforeEach(() => upstream.forget())

describe('the upstream’s own words about the request', () => {
  const rejection = JSON.stringify({
    error: {
      message:
        'The model `served-oai` takes at most 5 tokens; "served-oai" and \'served-oai\' are one. No served-oai-2024-08-06!',
      served: 'served-oai',
      other: 'served-oai-2',
      big: 12345678901234567890n.toString(),
    },
  })

  it.each([400, 409, 413, 422])('pass with status %i, as they are but for the name', async status => {
    upstream.answerNext(
      json(rejection, { status, headers: { 'x-upstream': 'yes', 'x-ratelimit-limit-requests': '5' } }),
    )
    const answer = await post(gateway, CHAT, { model: 'ext/chat' })
    expect(answer.status).toBe(status)
    expect(answer.headers.get('x-upstream')).toBe('yes')
    expect(answer.headers.get('x-ratelimit-limit-requests')).toBe(null)
    expect(answer.headers.get('x-request-id')).toMatch(/^req_/)
    expect(await answer.text()).toBe(
      rejection
        .replaceAll('`served-oai`', '`ext/chat`')
        .replaceAll('"served-oai"', '"ext/chat"')
        .replaceAll('\\"served-oai\\"', '\\"ext/chat\\"')
        .replaceAll("'served-oai'", "'ext/chat'")
        .replace('served-oai-2024-08-06', 'ext/chat'),
    )
    expect(await loggedFor(gateway, answer)).toMatchObject({ outcome: 'answered', status })
  })

  it('pass with a bill of a customer’s in them: only an account without money is the gateway’s', async () => {
    for (const text of ['Invalid tool `billing_of_customer`', 'billing: insufficient quota of tools']) {
      const body = JSON.stringify({ error: { message: text, type: 'invalid_request_error', code: null } })
      upstream.answerNext(json(body, { status: 400 }))
      const answer = await post(gateway, CHAT, { model: 'ext/chat' })
      expect([answer.status, await answer.text()]).toEqual([400, body])
    }
  })

  it('bear the gateway’s own id on Anthropic’s paths, in the body as in the headers', async () => {
    const body = (id: string) =>
      `{"type":"error","error":{"type":"invalid_request_error","message":"no served-ant"},"request_id":"${id}"}`
    upstream.answerNext(
      json(body('req_upstream'), { status: 400, headers: { 'request-id': 'req_upstream' } }),
    )
    const answer = await post(gateway, MESSAGES, { model: 'ext-claude' })
    const id = answer.headers.get('request-id') ?? ''
    expect(id).toMatch(/^req_[0-9a-f]{24}$/)
    expect(await answer.text()).toBe(body(id).replace('served-ant', 'ext-claude'))
  })

  it('of 200 KB pass whole, at the pace of their reader', async () => {
    const body = JSON.stringify({ detail: [{ input: 'served-oai '.repeat(20_000) }] })
    upstream.answerNext(json(body, { status: 422 }), json(body, { status: 400 }))
    for (const status of [422, 400]) {
      const answer = await post(gateway, CHAT, { model: 'ext/chat' })
      expect(answer.status).toBe(status)
      expect((await answer.text()) === body.replaceAll('served-oai', 'ext/chat')).toBe(true)
    }
  })

  it('are a 502 where they break off before a byte has gone to the client', async () => {
    upstream.answerNext(
      json('{"error":{"message":"no', { status: 400, framing: 'chunked', ending: 'reset' }),
      json('{"error":{"message":"no', { status: 422, framing: 'chunked', ending: 'reset' }),
    )
    for (let time = 0; time < 2; time++)
      expect((await post(gateway, CHAT, { model: 'ext/chat' })).status).toBe(502)
  })

  it('pass also where they are no JSON, or empty', async () => {
    for (const body of ['<h1>400 "served-oai"</h1>', '']) {
      upstream.answerNext(reply({ status: 400, headers: { 'content-type': 'text/html' }, body }))
      const answer = await post(gateway, CHAT, { model: 'ext/chat' })
      expect(answer.status).toBe(400)
      expect(answer.headers.get('content-type')).toBe('text/html')
      expect(await answer.text()).toBe(body.replace('served-oai', 'ext/chat'))
    }
  })

  it('leave the names of members alone where the served model is called like one', async () => {
    const config = basicConfig(upstream.url).replace('served_model: served-oai', 'served_model: message')
    const odd = await testGateway(onTestFinished, config, { secrets: BASIC_SECRETS })
    upstream.answerNext(json('{"error":{"message" : "message","model":"message"}}', { status: 400 }))
    expect(await (await post(odd, CHAT, { model: 'ext/chat' })).text()).toBe(
      '{"error":{"message" : "ext/chat","model":"ext/chat"}}',
    )
  })

  it('reach a client that is still sending a large body', async () => {
    const early = await scriptedUpstream(onTestFinished, { answerAt: 'head' })
    const config = basicConfig(early.url)
    const own = await testGateway(onTestFinished, config, { secrets: BASIC_SECRETS })
    early.answerNext(json('{"error":{"message":"too large"}}', { status: 413 }))
    const answer = await post(own, CHAT, { model: 'ext/chat', x: 'x'.repeat(8_000_000) })
    expect(answer.status).toBe(413)
    expect(await answer.text()).toBe('{"error":{"message":"too large"}}')
  })
})
