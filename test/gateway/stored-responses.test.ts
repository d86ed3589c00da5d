import { request } from 'node:http'
import { describe, expect, it, onTestFinished, test } from 'vitest'
import { json, reply, sse } from '../support/answers.ts'
import { testGateway } from '../support/gateway.ts'
import { scriptedUpstream } from '../support/scripted-upstream.ts'
import { RESPONSES } from './calls.ts'

const response = (id: string, item = `msg_of_${id}`) => ({
  id,
  object: 'response',
  status: 'completed',
  model: 'served',
  output: [{ id: item, type: 'message', content: [{ type: 'output_text', text: 'hi' }] }],
  usage: { input_tokens: 30, output_tokens: 4 },
})

/** Two upstreams that serve one model, and callers of two tenants and without one. */
async function scene() {
  const east = await scriptedUpstream(onTestFinished)
  const west = await scriptedUpstream(onTestFinished)
  const yaml = (more: { bindings?: string; endpoints?: string; models?: string } = {}) => `
version: 1
endpoints:
  east: { protocol: openai, base_url: "${east.url}/v1", served_model: served }
  west: { protocol: openai, base_url: "${west.url}/v1", served_model: served ${more.endpoints ?? ''} }
  east-big: { protocol: openai, base_url: "${east.url}/v1", served_model: big }
  east-foreign: { protocol: openai, base_url: "${east.url}/v1", served_model: big, headers: { x-project: two } }
publications:
  bigger: { max_input_tokens: 128000, bindings: [{ endpoint: east-big }] }
  foreign: { bindings: [{ endpoint: east-foreign }] }
  m: { max_input_tokens: 128000, bindings: ${more.bindings ?? '[{ endpoint: east, priority: 0 }, { endpoint: west, priority: 1 }]'} }
  other: { bindings: [{ endpoint: west }] }
tenants: { acme: {}, blue: {} }
keys:
  a1: { kind: tenant, tenant: acme ${more.models ?? ''} }
  a2: { kind: tenant, tenant: acme }
  b1: { kind: tenant, tenant: blue }
  p1: { kind: platform }
  p2: { kind: platform }
`
  const gateway = await testGateway(onTestFinished, yaml())
  const call = (key: string, method: string, path: string, body?: object) =>
    fetch(gateway.url + path, {
      method,
      headers: { authorization: `Bearer ${gateway.secretOf(key)}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
  /** Has the east upstream make a response for a key; its id is known from then on. */
  const made = async (key: string, id: string, stream = false) => {
    const done = response(id)
    const streamed = [
      ['response.created', { ...done, output: [], usage: null }],
      ['response.completed', done],
    ].map(
      ([type, inner]) => `event: ${type as string}\ndata: ${JSON.stringify({ type, response: inner })}\n\n`,
    )
    east.answerNext(stream ? sse(streamed) : json(done))
    const answer = await call(key, 'POST', RESPONSES, { model: 'm', input: 'hello', stream })
    expect(await answer.text()).toContain(id)
    await gateway.ledger.nextEnd()
    east.forget()
  }
  return { east, west, gateway, yaml, call, made }
}

/** Every way to name a stored response: method, path and body. */
const WAYS = (id: string): [string, string, object?][] => [
  ['GET', `${RESPONSES}/${id}`],
  ['GET', `${RESPONSES}/${id}?stream=true`],
  ['DELETE', `${RESPONSES}/${id}`],
  ['POST', `${RESPONSES}/${id}/cancel`],
  ['GET', `${RESPONSES}/${id}/input_items?limit=2`],
  ...['', '/compact', '/input_tokens'].flatMap((suffix): [string, string, object][] =>
    [
      { previous_response_id: id, input: 'more' },
      { input: [{ type: 'item_reference', id }] },
      { input: [{ id }] },
      { input: [{ id, type: null }] },
      {
        input: [
          { role: 'user', content: 'hi' },
          { type: 'item_reference', id, role: 'user' },
        ],
      },
    ].map(body => ['POST', RESPONSES + suffix, { model: 'm', ...body }]),
  ),
]

describe('the id of another tenant’s response is an id that does not exist', () => {
  // LiteLLM #15757: a leaked id; #38320, #38325: a streamed one; #35536: one without an owner.
  it.each([
    ['another tenant', 'a1', 'b1', false],
    ['another tenant, of a stream', 'a1', 'b1', true],
    ['a platform key', 'a1', 'p1', false],
    ['another platform key', 'p1', 'p2', false],
    ['a tenant, of a platform key', 'p1', 'a1', false],
  ])('for %s', async (_title, owner, other, stream) => {
    const { east, west, call, made } = await scene()
    await made(owner, 'resp_1', stream)
    for (const [index, way] of WAYS('resp_1').entries()) {
      const unknown = await call(other, ...(WAYS('resp_0')[index] as [string, string, object?]))
      const foreign = await call(other, ...way)
      expect([foreign.status, unknown.status], `${way[0]} ${way[1]}`).toEqual([404, 404])
      const shown = await foreign.text()
      expect(shown).toBe(await unknown.text())
      expect(JSON.parse(shown)).toMatchObject({
        error: { type: 'invalid_request_error', code: 'response_not_found' },
      })
    }
    expect([...east.requests, ...west.requests]).toEqual([])
  })

  // OpenAI completes such items from what it keeps under the id.
  it.each([
    [{ type: 'reasoning', summary: [] }],
    [{ type: 'reasoning', summary: [{ type: 'summary_text', text: 'x' }], encrypted_content: null }],
    [{ type: 'reasoning', summary: [], encrypted_content: '' }],
    [{ type: 'image_generation_call' }],
    [{ type: 'image_generation_call', result: 'aGk=', encrypted_content: 'x' }],
    [{ type: 'file_search_call', status: 'completed', queries: [], results: null }],
    [{ type: 'web_search_call', status: 'completed', role: 'user' }],
  ])('nor may an item carry it that could lack its content: %j', async item => {
    const { east, west, call, made } = await scene()
    await made('a1', 'resp_1')
    for (const suffix of ['', '/compact', '/input_tokens']) {
      const input = [
        { role: 'user', content: 'hi' },
        { ...item, id: 'msg_of_resp_1' },
      ]
      const answer = await call('b1', 'POST', RESPONSES + suffix, { model: 'm', input })
      expect(answer.status).toBe(404)
      expect(await answer.json()).toMatchObject({ error: { code: 'response_not_found', param: 'input' } })
    }
    expect([...east.requests, ...west.requests]).toEqual([])
    east.answer(json(response('resp_2')))
    const own = { model: 'm', input: [{ ...item, id: 'msg_of_resp_1' }] }
    expect((await call('a2', 'POST', RESPONSES, own)).status).toBe(200)
    expect(east.lastRequest.json()).toEqual({ ...own, model: 'served' })
  })

  it('but an item with an id that is unknown, or with all of its content, is forwarded', async () => {
    const { east, call, made } = await scene()
    await made('a1', 'resp_1')
    east.answer(json(response('resp_2')))
    const id = 'msg_of_resp_1'
    for (const item of [
      { type: 'reasoning', id: 'rs_unknown', summary: [] },
      { type: 'reasoning', id, summary: [], encrypted_content: 'x' },
      { type: 'function_call', id, call_id: 'c', name: 'f', arguments: '{}' },
      { type: 'message', id, role: 'assistant', content: [] },
      { id, role: 'assistant', content: 'hi' },
    ]) {
      expect((await call('b1', 'POST', RESPONSES, { model: 'm', input: [item] })).status).toBe(200)
      expect(east.lastRequest.json()).toMatchObject({ input: [item] })
    }
  })

  // LiteLLM #35536, #39548: an id that the gateway has never issued has no owner.
  it.each([
    'resp_never_issued',
    'resp_bGl0ZWxsbTpjdXN0b21fbGxtX3Byb3ZpZGVyOm9wZW5haQ==',
    'x',
    'a'.repeat(600),
    '',
  ])('nor is one forwarded that was never issued: %s', async id => {
    const { east, west, call } = await scene()
    const answer = await call('a1', 'POST', RESPONSES, { model: 'm', input: 'hi', previous_response_id: id })
    expect(answer.status).toBe(404)
    expect(await answer.json()).toMatchObject({ error: { param: 'previous_response_id' } })
    if (id !== '') expect((await call('a1', 'GET', `${RESPONSES}/${id}`)).status).toBe(404)
    expect([...east.requests, ...west.requests]).toEqual([])
  })

  // LiteLLM #38325: another spelling of the path. #39559: a WebSocket.
  it('by another spelling of its path, or over another protocol', async () => {
    const { east, west, gateway, made } = await scene()
    await made('a1', 'resp_1')
    for (const path of [
      '/openai/v1/responses/resp_1',
      '/responses/resp_1',
      '/v1//responses/resp_1',
      '/v1/responses/resp_1/',
      '/v1/responses/%72esp_1',
      '/v1/responses/./resp_1',
      '/v1/responses/..',
      '/v1/responses/.../cancel',
      '/v1/responses/resp_1%2fcancel',
      '/v1/responses/resp_1/input_items/x',
    ]) {
      for (const key of ['a1', 'b1']) expect(await statusOf(path, gateway.secretOf(key)), path).toBe(404)
    }
    // fetch would resolve the dots.
    function statusOf(path: string, secret: string): Promise<number | undefined> {
      const headers = { authorization: `Bearer ${secret}` }
      return new Promise((resolve, reject) => {
        request(gateway.url, { path, headers }, answer => {
          answer.resume()
          resolve(answer.statusCode)
        })
          .on('error', reject)
          .end()
      })
    }
    expect([...east.requests, ...west.requests]).toEqual([])
  })
})

describe('a stored response', () => {
  const MORE = { model: 'm', input: 'more', previous_response_id: 'resp_1' }

  it.each([
    [
      'where other endpoints come first',
      '[{ endpoint: west, priority: 0 }, { endpoint: east, priority: 1 }]',
    ],
    ['where its endpoint takes no new calls', '[{ endpoint: west }, { endpoint: east, weight: 0 }]'],
  ])('is continued at the endpoint that keeps it, by any key of the tenant, %s', async (_title, bindings) => {
    const { east, west, gateway, yaml, call, made } = await scene()
    await made('a1', 'resp_1')
    await gateway.reload(yaml({ bindings }))
    east.answerNext(json(response('resp_2')), json(response('resp_3')))
    expect((await call('a2', 'POST', RESPONSES, MORE)).status).toBe(200)
    expect(east.lastRequest.json()).toEqual({ ...MORE, model: 'served' })
    // With the tokens of the earlier response, which the model reads again.
    expect(gateway.ledger.holds[1]?.inputTokens).toBeGreaterThanOrEqual(34)
    const items = [
      { type: 'item_reference', id: 'msg_of_resp_1' },
      { role: 'user', content: 'more' },
    ]
    expect((await call('a2', 'POST', RESPONSES, { model: 'm', input: items })).status).toBe(200)
    expect(west.requests).toEqual([])
  })

  it('is continued nowhere else if its endpoint fails', async () => {
    const { east, west, call, made } = await scene()
    await made('a1', 'resp_1')
    east.answerNext(reply({ status: 500 }))
    expect((await call('a1', 'POST', RESPONSES, MORE)).status).toBe(502)
    expect(west.requests).toEqual([])
  })

  it('is continued with another model of the same upstream account, and with items of both', async () => {
    const { east, gateway, call, made } = await scene()
    await made('a1', 'resp_1')
    east.answerNext(json({ ...response('resp_2', 'msg_2'), model: 'big' }))
    expect((await call('a1', 'POST', RESPONSES, { ...MORE, model: 'bigger' })).status).toBe(200)
    expect(east.lastRequest.json()).toEqual({ ...MORE, model: 'big' })
    await gateway.ledger.nextEnd()
    const both = {
      model: 'm',
      input: [{ type: 'item_reference', id: 'msg_2' }],
      previous_response_id: 'resp_1',
    }
    east.answerNext(json(response('resp_3')))
    expect((await call('a1', 'POST', RESPONSES, both)).status).toBe(200)
    expect(east.lastRequest.json()).toEqual({ ...both, model: 'served' })
  })

  it.each([
    ['its endpoint no longer serves the model', 'm'],
    ['its endpoint serves another model', 'other'],
    ['the model is served by another account of the same upstream', 'foreign'],
  ])('is a 503 that says why where %s', async (_title, model) => {
    const { west, gateway, yaml, call, made } = await scene()
    await made('a1', 'resp_1')
    if (model === 'm') await gateway.reload(yaml({ bindings: '[{ endpoint: west }]' }))
    const answer = await call('a1', 'POST', RESPONSES, { ...MORE, model })
    expect(answer.status).toBe(503)
    expect(await answer.json()).toMatchObject({
      error: {
        code: 'no_healthy_endpoint',
        message: expect.stringContaining('keeps the stored response') as string,
      },
    })
    expect(west.requests).toEqual([])
  })

  it.each([
    ['GET', '', '?include=x'],
    ['DELETE', '', ''],
    ['POST', '/cancel', ''],
    ['GET', '/input_items', '?limit=2&after=msg_1'],
  ])('is served to its tenant, free of charge: %s %s', async (method, suffix, query) => {
    const { east, gateway, call, made } = await scene()
    await made('a1', 'resp_1')
    east.answerNext(json(response('resp_1')))
    const answer = await call('a2', method, `${RESPONSES}/resp_1${suffix}${query}`)
    expect(await answer.json()).toEqual({ ...response('resp_1'), model: 'm' })
    const { method: sent, target } = east.lastRequest
    expect([sent, target]).toEqual([method, `/v1/responses/resp_1${suffix}${query}`])
    expect(east.lastRequest.text()).toBe('')
    await gateway.nextLogged()
    expect(gateway.ledger.holds).toHaveLength(1)
  })

  it('that the upstream has deleted is not found; a wrong method gets its error', async () => {
    const { east, call, made } = await scene()
    await made('a1', 'resp_1')
    east.answer(json({ error: { message: 'no such response' } }, { status: 404 }))
    for (const [method, body] of [['GET'], ['POST', MORE]] as const) {
      const answer = await call('a1', method, body ? RESPONSES : `${RESPONSES}/resp_1`, body)
      expect(answer.status).toBe(404)
      expect(await answer.json()).toMatchObject({ error: { code: 'response_not_found' } })
    }
    const wrong = await call('a1', 'DELETE', `${RESPONSES}/resp_1/cancel`)
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'POST'])
  })

  it('is not shown to a key that may no longer use the model', async () => {
    const { east, gateway, yaml, call, made } = await scene()
    await made('a1', 'resp_1')
    await gateway.reload(yaml({ models: ', models: [other]' }))
    expect((await call('a1', 'GET', `${RESPONSES}/resp_1`)).status).toBe(403)
    expect((await call('a1', 'POST', RESPONSES, MORE)).status).toBe(403)
    expect(east.requests).toEqual([])
  })

  it('cannot be joined with one that another endpoint keeps', async () => {
    const { west, gateway, call, made } = await scene()
    await made('a1', 'resp_1')
    west.answerNext(json(response('resp_2')))
    await (await call('a1', 'POST', RESPONSES, { model: 'other', input: 'hello' })).text()
    await gateway.ledger.nextEnd()
    const input = [{ type: 'item_reference', id: 'msg_of_resp_2' }]
    const answer = await call('a1', 'POST', RESPONSES, { ...MORE, input })
    expect(answer.status).toBe(400)
    expect(await answer.json()).toMatchObject({ error: { code: 'invalid_parameter' } })
  })
})

test('a call with more references than are looked up is rejected', async () => {
  const { east, call } = await scene()
  const input = Array.from({ length: 2_000 }, (_, at) => ({ type: 'item_reference', id: `msg_${at}` }))
  expect((await call('a1', 'POST', RESPONSES, { model: 'm', input })).status).toBe(400)
  expect(east.requests).toEqual([])
})
