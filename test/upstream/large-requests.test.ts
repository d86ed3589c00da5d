import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { systemClock as clock } from '../../src/base/clock.ts'
import { Deadlines } from '../../src/upstream/deadlines.ts'
import { Exchange } from '../../src/upstream/exchange.ts'
import { Pools } from '../../src/upstream/pools.ts'
import type { AnswerHandler, BodySink, Head } from '../../src/upstream/types.ts'

const NOWHERE: BodySink = { onPiece: () => true, onEnd: () => undefined, onBreak: () => undefined }

/** An upstream that begins its answer when it has heard a whole request, and an exchange with it. */
async function exchanging(body: Buffer[]) {
  let heardBytes = 0
  const server = createServer((req, res) => {
    req.on('data', (piece: Buffer) => {
      heardBytes += piece.length
    })
    req.on('end', () => res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const [pools, deadlines] = [new Pools(clock), new Deadlines(clock)]
  onTestFinished(() => {
    deadlines.stop()
    pools.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const upstream = {
    name: 'far',
    origin: `http://127.0.0.1:${port}`,
    basePath: '',
    headers: [],
    connectMs: 5_000,
    firstByteMs: 5_000,
    idleMs: 5_000,
    totalMs: 60_000,
  }
  const lengthBytes = Buffer.concat(body).length
  const request = {
    upstream,
    method: 'POST' as const,
    contentType: undefined,
    mayBeOpaque: false,
    pathAndQuery: '/',
    headers: [],
    body,
    lengthBytes,
  }
  const head = new Promise<Head>((resolve, reject) => {
    const taker: AnswerHandler = {
      onAnswer: (_exchange, head) => {
        resolve(head)
        return NOWHERE
      },
      onNoAnswer: reject,
    }
    const exchange = new Exchange(request, { pools, deadlines, clock }, clock.monotonicMs(), taker)
    onTestFinished(() => exchange.abort(new Error('the test is over')))
  })
  return { head, heardBytes: () => heardBytes }
}

it('lets go of a request’s body once it has gone and its answer has begun, and not before', async () => {
  const body = Array.from({ length: 3 }, () => Buffer.alloc(500_000))
  const { head, heardBytes } = await exchanging(body)
  expect(body).toHaveLength(3)
  expect(await head).toMatchObject({ status: 200 })
  expect(heardBytes()).toBe(1_500_000)
  expect(body).toEqual([])
})
