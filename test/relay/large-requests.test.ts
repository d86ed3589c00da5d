import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { systemClock as clock } from '../../src/base/clock.ts'
import { Deadlines } from '../../src/relay/deadlines.ts'
import { Exchange } from '../../src/relay/exchange.ts'
import { Pools } from '../../src/relay/pools.ts'

it('lets go of a request’s body once it has gone and its answer has begun, and not before', async () => {
  let heardBytes = 0
  const server = createServer((req, res) => {
    req.on('data', (piece: Buffer) => {
      heardBytes += piece.length
    })
    req.on('end', () => res.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const [pools, deadlines] = [new Pools(), new Deadlines(clock)]
  onTestFinished(async () => {
    deadlines.stop()
    await pools.destroy()
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
  const lengthBytes = 3 * 500_000
  const body = Array.from({ length: 3 }, () => Buffer.alloc(lengthBytes / 3))
  const request = { upstream, pathAndQuery: '/', headers: [], body, lengthBytes }
  const exchange = new Exchange(request, { pools, deadlines, clock }, clock.monotonicMs())
  expect(body).toHaveLength(3)
  expect(await exchange.head).toMatchObject({ status: 200 })
  expect(heardBytes).toBe(lengthBytes)
  expect(body).toEqual([])
  exchange.abort(new Error('the test is over'))
})
