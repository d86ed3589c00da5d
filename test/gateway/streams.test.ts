import { afterAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { bytes, sse } from '../support/answers.ts'
import { gate } from '../support/gate.ts'
import { BASIC_SECRETS, basicConfig, testGateway } from '../support/gateway.ts'
import { type Answer, scriptedUpstream } from '../support/scripted-upstream.ts'
import { CHAT, chunk, loggedFor, MESSAGES, rawPost } from './calls.ts'
import type { RawAnswer } from './raw-client.ts'
import { ask, event, HEAD, named, openaiError, STREAM } from './streaming.ts'

const upstream = await scriptedUpstream(afterAll)
const gateway = await testGateway(afterAll, basicConfig(upstream.url), { secrets: BASIC_SECRETS })
beforeEach(() => upstream.forget())
const send = (path: string, body: string) => ask(onTestFinished, gateway, path, body)

/** The last event of a body, and what stands before it. */
function lastEvent(answer: RawAnswer): { before: string; lines: string[] } {
  const events = answer.text().split('\n\n')
  expect(events.at(-1)).toBe('')
  return {
    before: events
      .slice(0, -2)
      .map(text => `${text}\n\n`)
      .join(''),
    lines: events.at(-2)?.split('\n') ?? [],
  }
}

it('an event of 3 MB has the name restored that stands behind all of it', async () => {
  const long = (name: string) => `data: {"image":"${'x'.repeat(3_000_000)}","model":"${name}"}\n\n`
  upstream.answerNext(sse([long('served-oai'), 'data: [DONE]\n\n']))
  const answer = await (await send(CHAT, STREAM)).answer()
  expect(answer.whole).toBe(true)
  expect(answer.text() === `${long('ext-both')}data: [DONE]\n\n`).toBe(true)
})

describe('a stream', () => {
  it('shows its head at once, although its first event is yet to come', async () => {
    const door = gate()
    upstream.answerNext(sse([door, event('a'), 'data: [DONE]\n\n']))
    const client = await send(CHAT, STREAM)
    const early = await client.until(answer => answer.status === 200)
    expect(early.body).toHaveLength(0)
    expect(early.values('content-type')).toEqual(['text/event-stream; charset=utf-8'])
    expect(early.values('x-gw-endpoint')).toEqual(['oai'])
    door.open()
    expect((await client.answer()).text()).toBe(`${named('a')}data: [DONE]\n\n`)
  })

  it('passes each event as it comes, however it is cut', async () => {
    const doors = [gate(), gate(), gate()] as const
    const text = event('é')
    upstream.answerNext(
      sse([event('a'), doors[0], text.slice(0, 20), doors[1], text.slice(20), doors[2], 'data: [DONE]\n\n']),
    )
    const client = await send(CHAT, STREAM)
    await client.until(answer => answer.text() === named('a'))
    doors[0].open()
    doors[1].open()
    await client.until(answer => answer.text() === named('a') + named('é'))
    doors[2].open()
    expect((await client.answer()).whole).toBe(true)
  })

  it('ends for the client when the upstream ends, and its connection serves the next request', async () => {
    upstream.answer(sse([event('a'), 'data: [DONE]\n\n']))
    const client = await send(CHAT, STREAM)
    for (let round = 0; round < 3; round++) {
      if (round > 0) await client.write(rawPost(gateway, CHAT, STREAM))
      const answer = await client.answer()
      expect(answer.whole).toBe(true)
      expect(answer.text()).toBe(`${named('a')}data: [DONE]\n\n`)
    }
    expect(new Set(upstream.requests.map(request => request.connection)).size).toBe(1)
  })

  it('is complete at [DONE], whatever the upstream does after it', async () => {
    const whole = `${named('a')}data: [DONE]\n\n`
    const last = chunk(`${event('a')}data: [DONE]\n\n`).toString()
    const goodbyes: Answer[] = [
      sse([event('a'), 'data: [DONE]\n\n'], { ending: 'reset' }),
      sse([event('a'), 'data: [DONE]\n\n'], { ending: 'cut' }),
      // In one segment with the last event: what breaks, breaks before the answer has been settled.
      bytes(`${HEAD}${last}nonsense\r\n`),
      bytes(`${HEAD}${last}nonsense\r\n`, 'reset'),
      bytes(`${HEAD}${last}`),
    ]
    for (const goodbye of goodbyes) {
      upstream.answerNext(goodbye)
      const answer = await (await send(CHAT, STREAM)).answer()
      expect(answer.text()).toBe(whole)
      expect(answer.whole).toBe(true)
      expect(await loggedFor(gateway, answer)).toMatchObject({ outcome: 'answered' })
    }
  })

  it.each(['chunked', 'close'] as const)(
    'is complete without [DONE] after its finish reason and usage (%s)',
    async framing => {
      const finish = event('b').replace('"}}]', '"},"finish_reason":"stop"}]')
      const usage = 'data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4}}\n\n'
      upstream.answerNext(sse([event('a'), finish, usage], { framing }))
      const answer = await (await send(CHAT, STREAM)).answer()
      expect(answer.text()).toBe(`${named('a')}${finish.replace('served-oai', 'ext-both')}${usage}`)
      expect(answer.whole).toBe(true)
      expect(await loggedFor(gateway, answer)).toMatchObject({ outcome: 'answered' })
    },
  )
})

describe('a stream that breaks', () => {
  it.each<[string, Answer]>([
    ['is reset', sse([event('a')], { ending: 'reset' })],
    ['is cut', sse([event('a')], { ending: 'cut' })],
    ['ends in good order, without [DONE]', sse([event('a')])],
    ['ends with its connection, without [DONE]', sse([event('a')], { framing: 'close' })],
    ['ends inside an event', sse([event('a'), 'data: {"mod'])],
    ['ends inside [DONE]', sse([event('a'), 'data: [DO'])],
    ['sends a bad chunk', bytes(`${HEAD}${chunk(event('a')).toString()}zz\r\n`)],
  ])(
    'because it %s ends with an error event, no [DONE], and an end in good order',
    async (_title, answer) => {
      upstream.answerNext(answer)
      const got = await (await send(CHAT, STREAM)).answer()
      expect(got.status).toBe(200)
      expect(got.whole).toBe(true)
      const { before, lines } = lastEvent(got)
      expect(before).toBe(named('a'))
      expect(lines).toEqual([expect.stringMatching(/^data: \{"error":/)])
      expect(JSON.parse(lines[0]?.slice(6) ?? '')).toEqual(openaiError('upstream_error'))
      expect(await loggedFor(gateway, got)).toMatchObject({
        outcome: 'broken',
        error_code: 'upstream_error',
        status: 200,
        endpoint: 'oai',
      })
    },
  )

  it('tells it to Anthropic’s clients in their own event, without message_stop', async () => {
    const start = 'event: message_start\ndata: {"type":"message_start","message":{"model":"served-ant"}}\n\n'
    upstream.answerNext(sse([start], { ending: 'reset' }))
    const got = await (await send(MESSAGES, STREAM)).answer()
    expect(got.whole).toBe(true)
    const { before, lines } = lastEvent(got)
    expect(before).toBe(start.replace('served-ant', 'ext-both'))
    expect(lines[0]).toBe('event: error')
    expect(JSON.parse(lines[1]?.replace(/^data: /, '') ?? '')).toEqual({
      type: 'error',
      error: { type: 'api_error', message: expect.any(String) },
      request_id: got.values('request-id')[0],
    })
    expect(lines).toHaveLength(2)
  })

  it('before its first event tells it in-band too, for its head has gone', async () => {
    const door = gate()
    upstream.answerNext(sse([door], { ending: 'reset' }))
    const client = await send(CHAT, STREAM)
    await client.until(answer => answer.status === 200)
    door.open()
    const answer = await client.answer()
    expect(answer.whole).toBe(true)
    expect(lastEvent(answer).before).toBe('')
  })

  it('inside an event of which a part has gone out ends that event first', async () => {
    upstream.answerNext(sse([`data: {"model":"served-oai","x":"${'x'.repeat(1_200_000)}`], { ending: 'cut' }))
    const answer = await (await send(CHAT, STREAM)).answer()
    const { before, lines } = lastEvent(answer)
    expect(before.endsWith('xxx\n\n')).toBe(true)
    expect(before.startsWith('data: {"model":"ext-both"')).toBe(true)
    expect(JSON.parse(lines[0]?.slice(6) ?? '')).toEqual(openaiError('upstream_error'))
  })

  it('at an error of more than 1 MiB inside an event never shows the served name', async () => {
    const long = 'x'.repeat(1_100_000)
    upstream.answerNext(
      sse([`data: {"x":"${long}","error":{"message":"no served-oai, `, long, ` served-oai"}}\n\n`]),
    )
    const answer = await (await send(CHAT, STREAM)).answer()
    expect(answer.whole).toBe(true)
    expect(answer.text()).not.toContain('served')
    const { lines } = lastEvent(answer)
    expect(JSON.parse(lines[0]?.slice(6) ?? '')).toEqual(openaiError('upstream_error'))
    expect(await loggedFor(gateway, answer)).toMatchObject({
      outcome: 'broken',
      error_code: 'upstream_error',
    })
  })

  it('with an error of the upstream’s own passes that, and adds none', async () => {
    const own = 'data: {"error":{"message":"overloaded","code":529}}\n\n'
    upstream.answerNext(sse([event('a'), own]))
    expect((await (await send(CHAT, STREAM)).answer()).text()).toBe(named('a') + own)
  })
})
