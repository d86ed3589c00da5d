import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import fc from 'fast-check'
import { describe, expect, it, onTestFinished } from 'vitest'
import { systemRandom } from '../../src/base/random.ts'
import { acceptOf, WebSocketCarrier } from '../../src/tunnel/websocket.ts'
import { testClock } from '../support/test-clock.ts'
import { endOf } from './pair.ts'

/** Two sockets of one connection. */
async function sockets(): Promise<readonly [Socket, Socket]> {
  const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const far = connect({
    host: '127.0.0.1',
    port: (server.address() as AddressInfo).port,
    allowHalfOpen: true,
  })
  const [near] = (await once(server, 'connection')) as [Socket]
  onTestFinished(() => {
    for (const socket of [near, far]) socket.destroy()
    server.close()
  })
  return [near, far]
}

/** The gateway's end, and a bare socket at the other. */
async function attacked() {
  const [near, far] = await sockets()
  const carrier = new WebSocketCarrier(near, { head: Buffer.alloc(0) })
  const failed = new Promise<string>(resolve => carrier.on('error', ({ message }) => resolve(message)))
  return { carrier, near, far, failed }
}

/** A frame of a client, whose mask is 0. */
function frame(first: number, payload: Buffer | string = ''): Buffer {
  const bytes = Buffer.from(payload)
  const length =
    bytes.length < 126 ? [0x80 | bytes.length] : [0x80 | 126, bytes.length >> 8, bytes.length & 0xff]
  return Buffer.concat([Buffer.from([first, ...length, 0, 0, 0, 0]), bytes])
}

it('ends its connection, and not the process, if it fails on its first bytes, before anyone listens', async () => {
  const [near] = await sockets()
  const carrier = new WebSocketCarrier(near, { head: Buffer.from('garbage'), random: systemRandom })
  await once(near, 'close')
  const end = endOf(carrier, { side: 'node', clock: testClock() })
  await end.closed
})

const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

it('answers a key as RFC 6455 says', () => {
  expect(acceptOf('dGhlIHNhbXBsZSBub25jZQ==')).toBe('s3pPLMBiTxaQ9kYGzzhZRbK+xOo=')
})

it('carries any bytes both ways, however they are cut', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(fc.nat(200), fc.nat(70_000)), { maxLength: 8 }),
      fc.array(fc.nat(300_000), { maxLength: 12 }),
      async (lengths, cuts) => {
        const [near, far] = await sockets()
        // The bytes of the client, cut anew.
        const sent: Buffer[] = []
        const [recorder, into] = await sockets()
        const client = new WebSocketCarrier(recorder, { head: Buffer.alloc(0), random: systemRandom })
        into.on('data', (bytes: Buffer) => void sent.push(bytes))
        const pieces = lengths.map((length, at) => Buffer.alloc(length, `${at}abc`))
        for (const piece of pieces) client.write(piece)
        client.end()
        await once(into, 'end')
        const wire = Buffer.concat(sent)
        const ends = [...new Set([...cuts.map(cut => cut % (wire.length + 1)), wire.length])].sort(
          (a, b) => a - b,
        )
        const gateway = new WebSocketCarrier(near, { head: wire.subarray(0, ends[0]) })
        const received: Buffer[] = []
        gateway.on('data', (bytes: Buffer) => void received.push(Buffer.from(bytes)))
        const ended = once(gateway, 'end')
        for (const [at, end] of ends.entries()) {
          if (at === 0) continue
          far.write(wire.subarray(ends[at - 1], end))
          await new Promise(setImmediate)
        }
        await ended
        expect(digest(Buffer.concat(received))).toBe(digest(Buffer.concat(pieces)))
      },
    ),
    { numRuns: 40 },
  )
})

describe('a gateway destroys the connection after', () => {
  it.each([
    ['a frame without a mask', Buffer.from([0x82, 0x01, 0x61])],
    ['text', frame(0x81, 'a')],
    ['a bit of an extension', frame(0xc2, 'a')],
    ['an unknown opcode', frame(0x83, 'a')],
    ['a continuation of nothing', frame(0x80, 'a')],
    ['a message within a message', Buffer.concat([frame(0x02, 'a'), frame(0x82, 'b')])],
    ['a PING in parts', frame(0x09, 'a')],
    ['a long PING', frame(0x89, Buffer.alloc(126))],
    ['a length beyond all numbers', Buffer.from([0x82, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])],
  ])('%s', async (_title, bytes) => {
    const { far, failed } = await attacked()
    far.write(bytes)
    expect(await failed).toBe('an invalid frame of the WebSocket')
  })
})

it('answers PING between the parts of a message, and CLOSE with its code', async () => {
  const { carrier, far } = await attacked()
  let answered = Buffer.alloc(0)
  far.on('data', (bytes: Buffer) => {
    answered = Buffer.concat([answered, bytes])
  })
  let received = ''
  carrier.on('data', (bytes: Buffer) => {
    received += String(bytes)
  })
  const ended = once(carrier, 'end')
  const close = Buffer.from([0x03, 0xe9])
  far.write(Buffer.concat([frame(0x02, 'one '), frame(0x89, 'ping'), frame(0x80, 'two'), frame(0x88, close)]))
  await ended
  expect(received).toBe('one two')
  await expect.poll(() => answered.toString('hex')).toBe('8a0470696e67880203e9')
})

it('answers a flood of PING with few PONG while nothing is read', async () => {
  const { carrier, near, far } = await attacked()
  far.pause()
  const flood = Buffer.concat(Array.from({ length: 1_000 }, () => frame(0x89, Buffer.alloc(100))))
  for (let index = 0; index < 300; index++) {
    far.write(flood)
    await new Promise(setImmediate)
  }
  expect(carrier.destroyed).toBe(false)
  expect(near.writableLength).toBeLessThan(100_000)
  let answeredBytes = 0
  far.on('data', (bytes: Buffer) => {
    answeredBytes += bytes.length
  })
  far.resume()
  await expect.poll(() => answeredBytes).toBeGreaterThan(100)
  expect(answeredBytes).toBeLessThan(20_000_000)
})
