import { describe, expect, it, test } from 'vitest'
import { json, sse } from '../support/answers.ts'
import { billingScene, nano } from './billing-scene.ts'
import { RESPONSES } from './calls.ts'

const USAGE = {
  input_tokens: 30,
  input_tokens_details: { cached_tokens: 20, cache_write_tokens: 5 },
  output_tokens: 4,
  output_tokens_details: { reasoning_tokens: 3 },
}
const PAID = nano({ fresh: 5, cached: 20, written: 5, output: 4 })
const ITEM = { type: 'message', id: 'msg_1', content: [{ type: 'output_text', text: 'hi' }] }

const response = (status: string, more: object = {}) => ({
  id: 'resp_1',
  object: 'response',
  status,
  model: 'served',
  output: [ITEM],
  usage: USAGE,
  ...more,
})
const event = (type: string, more: object, sequence_number = 0) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number, ...more })}\n\n`
const created = event('response.created', {
  response: response('in_progress', { output: [], usage: null }),
})
const delta = event('response.output_text.delta', { item_id: 'msg_1', delta: 'x'.repeat(40) }, 1)
const ended = (status: string, more: object = {}) =>
  event(`response.${status}`, { response: response(status, more) }, 2)

test('a whole response has the external name, its usage is its bill, and its ids are known', async () => {
  const { upstream, call, settlement } = await billingScene()
  upstream.answerNext(json(response('completed')))
  const answer = await call(RESPONSES, { input: 'hello' })
  expect(await answer.json()).toEqual({ ...response('completed'), model: 'm' })
  expect(upstream.lastRequest.json()).toEqual({ model: 'served', input: 'hello' })
  const { amountNano, flags, stored, endedAtMs } = await settlement()
  expect([amountNano, flags]).toEqual([PAID, []])
  expect(stored).toEqual({
    ids: ['resp_1', 'msg_1'],
    tokens: 34,
    outputTokens: 4,
    expiresAtMs: endedAtMs + 30 * 86_400_000,
  })
})

test('the id of a response is distinguished from those of its items, also behind them', async () => {
  const { upstream, call, settlement } = await billingScene()
  const { id, ...rest } = response('completed')
  upstream.answerNext(json({ ...rest, id }))
  await (await call(RESPONSES, { input: 'hello' })).text()
  expect((await settlement()).stored?.ids).toEqual(['resp_1', 'msg_1'])
})

test('nothing is known of a response that the client does not want stored', async () => {
  const { upstream, call, settlement } = await billingScene()
  upstream.answerNext(json(response('completed')))
  await (await call(RESPONSES, { input: 'hello', store: false })).text()
  expect((await settlement()).stored).toBeUndefined()
})

test('a stream has the external name in each event, and no other change', async () => {
  const { upstream, call, settlement } = await billingScene()
  const text = created + delta + ended('completed')
  upstream.answerNext(sse(text))
  const answer = await call(RESPONSES, { input: 'hello', stream: true })
  expect(await answer.text()).toBe(text.replaceAll('"served"', '"m"'))
  expect(upstream.lastRequest.json()).toEqual({ model: 'served', input: 'hello', stream: true })
  const { amountNano, stored } = await settlement()
  expect(amountNano).toBe(PAID)
  expect(stored?.ids).toEqual(['resp_1'])
})

test('an incomplete response is billed by its usage', async () => {
  const { upstream, call, settlement } = await billingScene()
  upstream.answerNext(sse([created, delta, ended('incomplete')]))
  expect(await (await call(RESPONSES, { input: 'hello', stream: true })).text()).toContain(
    'response.incomplete',
  )
  expect((await settlement()).amountNano).toBe(PAID)
})

describe('a response that failed', () => {
  const error = { code: 'server_error', message: 'served is overloaded' }
  const FAILED = { usage: null, output: [], error }

  it('before it said anything is free, whole or streamed, and its error names no served model', async () => {
    for (const stream of [false, true]) {
      const { upstream, call, release } = await billingScene()
      upstream.answerNext(stream ? sse([created, ended('failed', FAILED)]) : json(response('failed', FAILED)))
      const answer = await call(RESPONSES, { input: 'hello', stream })
      expect(answer.status).toBe(200)
      const text = await answer.text()
      expect(text).toContain('m is overloaded')
      expect(text).not.toContain('served')
      expect((await release()).reason).toBe('upstream_error')
    }
  })

  it('later is billed by what it said, or by its usage', async () => {
    const { upstream, call, settlement } = await billingScene()
    upstream.answerNext(sse([created, delta, ended('failed', FAILED)]))
    expect(await (await call(RESPONSES, { input: 'hello', stream: true })).text()).toContain(
      'response.failed',
    )
    const { usage, flags } = await settlement()
    expect([usage.outputTokens, flags]).toEqual([10, ['partial', 'estimated']])

    const other = await billingScene()
    other.upstream.answerNext(sse([created, delta, ended('failed', { error })]))
    await (await other.call(RESPONSES, { input: 'hello', stream: true })).text()
    expect(await other.settlement()).toMatchObject({ amountNano: PAID, flags: ['partial'] })
  })
})

test('an error event ends a stream, with the served name restored', async () => {
  const { upstream, call, settlement } = await billingScene()
  const error = event('error', { code: 'server_error', message: 'served broke', param: null }, 2)
  upstream.answerNext(sse([created, delta, error]))
  const text = await (await call(RESPONSES, { input: 'hello', stream: true })).text()
  expect(text.endsWith(error.replace('served broke', 'm broke'))).toBe(true)
  expect((await settlement()).flags).toEqual(['partial', 'estimated'])
})

test('a stream that breaks off ends with an error event of its own form', async () => {
  const { upstream, call, settlement } = await billingScene()
  upstream.answerNext(sse([created, delta]))
  const text = await (await call(RESPONSES, { input: 'hello', stream: true })).text()
  const last = text.slice(text.lastIndexOf('event: '))
  expect(last.startsWith('event: error\ndata: ')).toBe(true)
  const fields = {
    message: expect.any(String) as string,
    type: 'server_error',
    param: null,
    code: 'upstream_error',
  }
  expect(JSON.parse(last.slice('event: error\ndata: '.length))).toEqual({
    ...fields,
    type: 'error',
    sequence_number: 2,
    error: fields,
  })
  expect((await settlement()).usage.outputTokens).toBe(10)
})

describe('a call that could not be billed, or whose place is unknown, is rejected', () => {
  it.each([
    ['background', { background: true }, 'is not supported'],
    ['conversation', { conversation: 'conv_1' }, 'previous_response_id'],
    ['conversation', { conversation: { id: 'conv_1' } }, 'previous_response_id'],
    ['max_output_tokens', { max_output_tokens: '5' }, 'number'],
    ['previous_response_id', { previous_response_id: 5 }, 'string'],
    ['background', { background: 'true' }, 'true or false'],
  ])('%s: %j', async (param, body, message) => {
    const { upstream, call } = await billingScene()
    for (const path of [RESPONSES, `${RESPONSES}/compact`, `${RESPONSES}/input_tokens`]) {
      const isUnread = param === 'max_output_tokens' && path !== RESPONSES
      if (isUnread) continue
      const answer = await call(path, { input: 'hello', ...body })
      expect(answer.status).toBe(400)
      expect(await answer.json()).toMatchObject({
        error: { code: 'invalid_parameter', param, message: expect.stringContaining(message) as string },
      })
    }
    expect(upstream.requests).toHaveLength(0)
  })

  it('a field in another letter case, or given twice', async () => {
    const { upstream, call } = await billingScene()
    for (const body of [{ Background: true }, { Previous_Response_Id: 'resp_1' }]) {
      expect((await call(RESPONSES, { input: 'hello', ...body })).status).toBe(400)
    }
    expect(upstream.requests).toHaveLength(0)
  })

  it('null and false are no such call', async () => {
    const { upstream, call, settlement } = await billingScene()
    upstream.answerNext(json(response('completed')))
    const body = { background: false, conversation: null, previous_response_id: null }
    expect((await call(RESPONSES, { input: 'hello', ...body })).status).toBe(200)
    await settlement()
  })
})

test('compact is billed, a count of input tokens is not', async () => {
  const { upstream, gateway, call, settlement } = await billingScene()
  upstream.answerNext(json({ object: 'response.input_tokens', input_tokens: 11 }))
  const counted = await call(`${RESPONSES}/input_tokens`, { input: 'hello' })
  expect(await counted.json()).toEqual({ object: 'response.input_tokens', input_tokens: 11 })
  expect(upstream.lastRequest.target).toBe('/v1/responses/input_tokens')
  await gateway.nextLogged()
  expect(gateway.ledger.holds).toHaveLength(0)
  upstream.answerNext(json({ id: 'resp_2', object: 'response.compaction', output: [], usage: USAGE }))
  await (await call(`${RESPONSES}/compact`, { input: 'hello' })).text()
  expect((await settlement()).amountNano).toBe(PAID)
})

describe('the hold', () => {
  it.each<[string, object, number]>([
    ['the output limit of the client', { input: 'hello', max_output_tokens: 100 }, 100],
    ['a stored prompt up to the context window', { prompt: { id: 'pmpt_1' }, max_output_tokens: 1 }, 128_001],
    [
      'an image, not its base64',
      {
        max_output_tokens: 1,
        input: [
          {
            role: 'user',
            content: [{ type: 'input_image', image_url: `data:image/png;base64,${'A'.repeat(999_000)}` }],
          },
        ],
      },
      48_170,
    ],
    [
      'a document by its id up to the window',
      {
        max_output_tokens: 1,
        input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'file_1' }] }],
      },
      128_001,
    ],
  ])('covers %s', async (_title, body, tokens) => {
    const { upstream, gateway, call, settlement } = await billingScene({
      publication: 'max_input_tokens: 128000',
    })
    upstream.answerNext(json(response('completed')))
    await (await call(RESPONSES, body)).text()
    await settlement()
    expect(gateway.ledger.holds[0]?.tokens).toBeGreaterThanOrEqual(tokens)
    expect(gateway.ledger.holds[0]?.tokens).toBeLessThan(tokens + 100)
  })
})
