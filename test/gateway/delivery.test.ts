import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import { GwError } from '../../src/base/catalogue/wire.ts'
import { systemClock } from '../../src/base/clock.ts'
import { systemRandom } from '../../src/base/random.ts'
import { Delivery } from '../../src/gateway/delivery.ts'
import { type Delivered, type Drain, drainForUsage } from '../../src/gateway/endings.ts'
import { RequestContext, RequestIds } from '../../src/gateway/request-context.ts'
import type { AnswerFilter } from '../../src/upstream/answer/filter.ts'
import { JsonAnswer } from '../../src/upstream/answer/json.ts'
import { SseAnswer } from '../../src/upstream/answer/sse.ts'
import type { Answered } from '../../src/upstream/types.ts'
import { gate } from '../support/gate.ts'
import { type RawClient, rawClient } from './raw-client.ts'

/** The upstream's side, which the test plays itself. */
interface Played {
  readonly sink: Delivery
  readonly res: ServerResponse
  readonly client: RawClient
  readonly delivered: Promise<Delivered>
  readonly aborted: readonly Error[]
  /** How often the upstream was resumed. */
  readonly resumed: () => number
}

/** A delivery over a real answer of node:http, from an upstream that the test plays, settled when the test says. */
async function delivery(
  kind: 'stream' | 'json',
  settle: () => Promise<void>,
  durable: () => Promise<void> | undefined = () => undefined,
  drain?: Drain,
): Promise<Played> {
  let answer: (res: ServerResponse) => void = () => undefined
  const answered = new Promise<ServerResponse>(resolve => {
    answer = resolve
  })
  const server = createServer((_req, res) => answer(res))
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as { port: number }
  const client = await rawClient(onTestFinished, `http://127.0.0.1:${port}`)
  await client.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n')

  const aborted: Error[] = []
  let resumes = 0
  const exchange: Answered = {
    resume: () => void resumes++,
    abort: reason => void aborted.push(reason),
  }
  const filterOptions = {
    format: 'chat',
    answers: 1,
    nameJson: Buffer.from('"m"'),
    servedModel: 's',
    hideUsage: false,
    requestId: 'req_1',
    observer: { onMember: () => undefined, onBytes: () => undefined, onText: () => undefined },
  } as const
  const filter: AnswerFilter =
    kind === 'stream' ? new SseAnswer(filterOptions) : new JsonAnswer(filterOptions)
  let ended: [resolve: (delivered: Delivered) => void, reject: (error: unknown) => void] | undefined
  const delivered = new Promise<Delivered>((...both) => {
    ended = both
  })
  delivered.catch(() => undefined) // looked at by those tests that expect it
  const res = await answered
  const sink = new Delivery({
    exchange,
    clock: systemClock,
    filter,
    res,
    context: new RequestContext('POST', '/v1/chat/completions', 'openai', {
      clock: systemClock,
      ids: new RequestIds({ clock: systemClock, random: systemRandom }),
    }),
    status: 200,
    headers: [],
    handler: {
      durable,
      settle,
      onBroken: () => undefined,
      onClientLeft: () => drain,
      onDelivered: shown => ended?.[0](shown),
      onUndelivered: error => ended?.[1](error),
    },
  })
  res.on('close', () => sink.clientLeft())
  sink.begin()
  return { sink, res, client, delivered, aborted, resumed: () => resumes }
}

const EVENT = 'data: {"a":1}\n\n'
const DONE = 'data: [DONE]\n\n'
const bytes = (text: string) => Buffer.from(text)

it('reads on for a client that left while it did not read what it was sent', async () => {
  const drain = drainForUsage({ abort: reason => expect.fail(reason.message) }, systemClock)
  onTestFinished(() => drain.end())
  const { sink, res, client } = await delivery('stream', async () => undefined, undefined, drain)
  client.socket.pause()
  const large = bytes(`data: {"a":"${'x'.repeat(100_000)}"}\n\n`)
  // Until the kernel takes nothing more.
  while ((res.socket?.writableLength ?? 0) < 2 * large.length) {
    sink.onRead(large)
    await new Promise(resolve => setImmediate(resolve))
  }
  expect(sink.onRead(bytes(EVENT))).toBe(false)
  const left = once(res, 'close')
  client.reset()
  await left
  expect(sink.onRead(bytes(EVENT))).toBe(true)
  expect(sink.onPiece(bytes(EVENT))).toBe(true)
})

describe('the first byte of an answer', () => {
  it('waits until its hold is durable, and the upstream waits with it', async () => {
    const held = gate()
    const { sink, res, client, delivered } = await delivery(
      'stream',
      async () => undefined,
      () => held.opened,
    )
    expect(sink.onPiece(bytes(EVENT))).toBe(true)
    await new Promise(resolve => setImmediate(resolve))
    expect(sink.onPiece(bytes(EVENT))).toBe(false)
    expect(res.headersSent).toBe(false)
    held.open()
    await client.until(({ body }) => body.length > 0)
    sink.onPiece(bytes(DONE))
    sink.onEnd()
    expect((await client.answer()).text()).toBe(EVENT + EVENT + DONE)
    expect(await delivered).toEqual({ outcome: 'answered' })
  })

  it('is never sent if its hold cannot become durable: the answer is an error', async () => {
    const held = gate()
    const { sink, delivered } = await delivery(
      'stream',
      async () => undefined,
      () => held.opened.then(() => Promise.reject(new Error('the journal is closed'))),
    )
    sink.onPiece(bytes(EVENT))
    held.open()
    await expect(delivered).rejects.toThrow('the journal is closed')
  })
})

describe('the last bytes of an answer', () => {
  it('of a stream wait until it has been settled; everything before them does not', async () => {
    const settled = gate()
    const { sink, client, delivered } = await delivery('stream', () => settled.opened)
    sink.onPiece(bytes(EVENT + DONE))
    sink.onEnd()
    const early = await client.until(({ body }) => body.length > 0)
    expect(early.text()).toBe(EVENT)
    settled.open()
    expect((await client.answer()).text()).toBe(EVENT + DONE)
    expect(await delivered).toEqual({ outcome: 'answered' })
  })

  it('of JSON wait with all of it, where it is small', async () => {
    const settled = gate()
    let came = 0
    const { sink, client } = await delivery('json', () => settled.opened)
    client.socket.on('data', piece => {
      came += piece.length
    })
    sink.onPiece(bytes('{"model":"s"}'))
    sink.onEnd()
    await new Promise(resolve => void setImmediate(resolve))
    expect(came).toBe(0)
    settled.open()
    const answer = await client.answer()
    expect(answer.text()).toBe('{"model":"m"}')
    expect(answer.values('content-length')).toEqual(['13'])
  })

  it.each<[string, (sink: Delivery) => void]>([
    ['breaks', sink => sink.onBreak(new GwError('upstream_error'))],
    ['ends', sink => sink.onEnd()],
    ['says more', sink => void sink.onPiece(bytes(': bye\n\n'))],
  ])('come once, whatever the upstream does meanwhile: it %s', async (title, act) => {
    for (const before of [EVENT, '']) {
      const settled = gate()
      const { sink, client, delivered } = await delivery('stream', () => settled.opened)
      sink.onPiece(bytes(before + DONE))
      act(sink)
      settled.open()
      await new Promise(resolve => void setImmediate(resolve))
      if (title === 'says more') sink.onEnd()
      const answer = await client.answer()
      expect(answer.whole).toBe(true)
      expect(answer.text()).toBe(`${before}${DONE}${title === 'says more' ? ': bye\n\n' : ''}`)
      expect(await delivered).toEqual({ outcome: 'answered' })
    }
  })

  it('never come where settling fails: the stream tells so, and the upstream is let go', async () => {
    const { sink, client, delivered, aborted } = await delivery('stream', () =>
      Promise.reject(new Error('disk full')),
    )
    sink.onPiece(bytes(EVENT + DONE))
    while (aborted.length === 0) await Promise.resolve()
    // What the upstream still says goes nowhere.
    sink.onPiece(bytes(EVENT))
    const answer = await client.answer()
    expect(answer.text().startsWith(`${EVENT}data: {"error":{`)).toBe(true)
    expect(answer.text()).toContain('"code":"internal_error"')
    expect(await delivered).toMatchObject({ outcome: 'broken', error: new Error('disk full') })
    sink.onBreak(new Error('gone'))
  })

  it('never come where settling fails: JSON that is held becomes an error with a status', async () => {
    const { sink, delivered } = await delivery('json', () => Promise.reject(new Error('disk full')))
    sink.onPiece(bytes('{}'))
    sink.onEnd()
    await expect(delivered).rejects.toThrow('disk full')
  })

  it('are not missed by a client that has left while they waited', async () => {
    const settled = gate()
    const { sink, client, delivered } = await delivery('stream', () => settled.opened)
    sink.onPiece(bytes(EVENT + DONE))
    await client.until(({ body }) => body.length > 0)
    client.reset()
    expect(await delivered).toEqual({ outcome: 'client_gone' })
    settled.open()
    sink.onEnd()
  })
})

it('reads nothing more behind the last event until the bill is written', async () => {
  const bill = gate()
  const { sink, client, resumed } = await delivery('stream', () => bill.opened)
  expect(sink.onPiece(bytes(EVENT))).toBe(true)
  expect(sink.onPiece(bytes(DONE))).toBe(true)
  expect(sink.onPiece(bytes(': more\n\n'))).toBe(false)
  expect(resumed()).toBe(0)
  bill.open()
  await expect.poll(resumed).toBe(1)
  expect(sink.onPiece(bytes(': last\n\n'))).toBe(true)
  sink.onEnd()
  await client.until(({ body }) => /: more\n\n[^]*: last\n\n/.test(body.toString()))
})
