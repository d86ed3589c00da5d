import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { json, sse } from '../support/answers.ts'
import { BASIC_SECRETS, basicConfig, testGateway } from '../support/gateway.ts'
import { scriptedUpstream } from '../support/scripted-upstream.ts'

const upstream = await scriptedUpstream(afterAll)
const gateway = await testGateway(afterAll, basicConfig(upstream.url), { secrets: BASIC_SECRETS })
beforeEach(() => upstream.forget())

function post(path: string, body: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(gateway.url + path, {
    method: 'POST',
    body,
    headers: {
      authorization: `Bearer ${gateway.secretOf('admin')}`,
      'content-type': 'application/json',
      ...headers,
    },
  })
}

describe('a chat', () => {
  it('arrives under the served name with our credential, and comes back under the name that was asked for', async () => {
    upstream.answerNext(
      json(
        '{"id":"x","model":"served-oai-2026","big":12345678901234567890,"usage":{"prompt_tokens":3,"completion_tokens":4}}',
      ),
    )
    const answer = await post(
      '/v1/chat/completions?trace=1',
      '{ "n":1, "model" : "ext\\/chat","x":12345678901234567890 }',
    )
    expect(answer.status).toBe(200)
    expect(await answer.text()).toBe(
      '{"id":"x","model":"ext/chat","big":12345678901234567890,"usage":{"prompt_tokens":3,"completion_tokens":4}}',
    )
    const request = upstream.lastRequest
    expect(request.target).toBe('/v1/chat/completions?trace=1')
    expect(request.text()).toBe('{ "n":1, "model" : "served-oai","x":12345678901234567890 }')
    expect(request.header('authorization')).toBe('Bearer sk-upstream-openai')
    expect(await gateway.nextLogged()).toMatchObject({
      outcome: 'answered',
      status: 200,
      input_tokens: 3,
      output_tokens: 4,
    })
  })

  it('streams, asks for usage and hides it', async () => {
    upstream.answerNext(
      sse([
        'data: {"model":"served-oai","choices":[{"delta":{"content":"a"}}],"usage":null}\n\n',
        'data: {"model":"served-oai","choices":[],"usage":{"prompt_tokens":5,"completion_tokens":6}}\n\n',
        'data: [DONE]\n\n',
      ]),
    )
    const answer = await post('/v1/chat/completions', '{"model":"ext/chat","stream":true}')
    expect(await answer.text()).toBe(
      'data: {"model":"ext/chat","choices":[{"delta":{"content":"a"}}]}\n\ndata: [DONE]\n\n',
    )
    expect(upstream.lastRequest.text()).toBe(
      '{"stream_options":{"include_usage":true},"model":"served-oai","stream":true}',
    )
    expect(await gateway.nextLogged()).toMatchObject({
      outcome: 'answered',
      stream: true,
      input_tokens: 5,
      output_tokens: 6,
    })
  })
})
