import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'undici'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { controlBytes } from '../../src/tunnel/control.ts'
import { FRAME, FrameWriter } from '../../src/tunnel/frames.ts'
import type { TunnelStream } from '../../src/tunnel/stream.ts'
import { type Carrier, carriers, endOf, fastClock, type Pair, pair } from './pair.ts'

let open: Pair | undefined
afterEach(() => {
  open?.close()
  open = undefined
})

async function httpEngine(answer: (req: IncomingMessage, res: ServerResponse) => void): Promise<number> {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => server.close().closeAllConnections())
  return (server.address() as AddressInfo).port
}

/** An HTTP client whose connections are streams. */
function clientOf({ gateway }: Pair, engine = 'vllm'): Client {
  const client = new Client('http://localhost', {
    // Not at once: undici would miss it.
    connect: (_options, done) => queueMicrotask(() => done(null, gateway.connection.open(engine) as never)),
  })
  onTestFinished(() => void client.destroy())
  return client
}

function reading(stream: TunnelStream): Promise<{ bytes: Buffer; error: Error | undefined }> {
  const pieces: Buffer[] = []
  stream.on('data', (piece: Buffer) => void pieces.push(piece))
  return new Promise(resolve => {
    stream.on('error', error => resolve({ bytes: Buffer.concat(pieces), error }))
    stream.on('end', () => resolve({ bytes: Buffer.concat(pieces), error: undefined }))
  })
}

const sha = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

describe.each<Carrier>(['tcp', 'tls', 'websocket'])('a connection over %s', kind => {
  it('carries calls to an engine, with repeated headers, their case, and trailers', async () => {
    const port = await httpEngine((req, res) => {
      const names = req.rawHeaders.filter((_, index) => index % 2 === 0)
      res.writeHead(200, [
        ['X-Twice', '1'],
        ['x-tWICE', '2'],
        ['Trailer', 'x-sum'],
        ['x-names', names.join(' ')],
      ] as never)
      res.write('one')
      res.addTrailers({ 'x-sum': '3' })
      res.end('two')
    })
    open = await pair(kind, { vllm: port })
    const lines: string[] = []
    const trailers: string[] = []
    const body = await new Promise<string>((resolve, reject) => {
      let text = ''
      clientOf(open as Pair).dispatch(
        { path: '/v1/chat', method: 'POST', headers: { 'X-MiXeD': 'a' }, body: 'question' },
        {
          onRequestStart: () => undefined,
          onResponseStart(controller) {
            lines.push(...(controller.rawHeaders as Buffer[]).map(String))
          },
          onResponseData: (_controller, piece) => {
            text += piece.toString()
          },
          onResponseEnd: (_controller, received) => {
            trailers.push(...Object.entries(received).map(String))
            resolve(text)
          },
          onResponseError: (_controller, error) => reject(error),
        },
      )
    })
    expect(body).toBe('onetwo')
    expect(lines).toEqual(expect.arrayContaining(['X-Twice', 'x-tWICE']))
    expect(lines.join(' ')).toContain('X-MiXeD')
    expect(trailers).toEqual(['x-sum,3'])
  })

  it('carries 64 large bodies at a time, both ways, byte for byte', async () => {
    const port = await httpEngine((req, res) => void req.pipe(res))
    open = await pair(kind, { vllm: port })
    const calls = Array.from({ length: 64 }, async (_, index) => {
      const sent = randomBytes(100_000 + index * 7_919)
      const { body } = await clientOf(open as Pair).request({ path: '/', method: 'POST', body: sent })
      return sha(await body.bytes()) === sha(sent)
    })
    expect(await Promise.all(calls)).not.toContain(false)
    await expect.poll(() => open?.gateway.connection.streams).toBeLessThanOrEqual(64)
  })

  it('gives streams turns: a long one does not delay a short one', async () => {
    const port = await httpEngine((req, res) => {
      if (req.url === '/short') return void res.end('short')
      const piece = Buffer.alloc(65_536)
      const write = (): void => {
        while (!res.destroyed && res.write(piece));
      }
      res.on('drain', write)
      write()
    })
    open = await pair(kind, { vllm: port })
    const long = await clientOf(open).request({ path: '/long', method: 'GET' })
    long.body.on('data', () => undefined).on('error', () => undefined)
    await pause(50)
    const startedMs = performance.now()
    for (let index = 0; index < 20; index++) {
      const { body } = await clientOf(open).request({ path: '/short', method: 'GET' })
      expect(await body.text()).toBe('short')
    }
    expect(performance.now() - startedMs).toBeLessThan(2_000)
    long.body.destroy()
  })

  it('keeps at most a window of an answer whose reader stands still', async () => {
    let sentBytes = 0
    const port = await httpEngine((_req, res) => {
      const piece = Buffer.alloc(65_536)
      const write = (): void => {
        while (sentBytes < 64 * 1_048_576 && res.write(piece)) sentBytes += piece.length
      }
      res.on('drain', write)
      write()
    })
    open = await pair(kind, { vllm: port })
    const stream = open.gateway.connection.open('vllm')
    stream.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n')
    await once(stream, 'readable')
    await expect.poll(() => stream.unread, { timeout: 5_000 }).toBeGreaterThan(900_000)
    await pause(200)
    expect(stream.unread + stream.readableLength).toBeLessThanOrEqual(1_048_576 + 16_384)
    expect(sentBytes).toBeLessThan(12 * 1_048_576)
  })

  it('passes a break of the engine on as a break, and an end as an end', async () => {
    const engine = createTcpServer(socket => {
      socket.once('data', (bytes: Buffer) => {
        if (bytes.includes('cut')) {
          socket.write('half an answer')
          setTimeout(() => socket.resetAndDestroy(), 20)
        } else socket.end('a whole answer')
      })
    }).listen(0, '127.0.0.1')
    await once(engine, 'listening')
    onTestFinished(() => void engine.close())
    open = await pair(kind, { vllm: (engine.address() as AddressInfo).port, dead: 1 })
    const whole = open.gateway.connection.open('vllm')
    whole.write('whole')
    expect(await reading(whole)).toEqual({ bytes: Buffer.from('a whole answer'), error: undefined })
    whole.destroy()
    const half = open.gateway.connection.open('vllm')
    half.write('cut')
    expect(await reading(half)).toMatchObject({
      bytes: Buffer.from('half an answer'),
      error: { code: 'ECONNRESET' },
    })
    const dead = open.gateway.connection.open('dead')
    expect(await reading(dead)).toMatchObject({ error: { code: 'ECONNREFUSED' } })
    await expect.poll(() => open?.node.connection.streams).toBe(0)
    expect(open.gateway.connection.streams).toBe(0)
  })

  it('resets every stream when either side is gone, and tells both why', async () => {
    open = await pair(kind, {}, { onOpen: stream => void stream.resume() })
    const streams = Array.from({ length: 10 }, () =>
      reading(open?.gateway.connection.open('x') as TunnelStream),
    )
    await expect.poll(() => open?.node.connection.streams).toBe(10)
    open.sockets.node.destroy()
    for (const { error } of await Promise.all(streams)) expect(error).toMatchObject({ code: 'ECONNRESET' })
    expect((await open.gateway.closed).code).toBe('lost')
    expect((await open.node.closed).code).toBe('lost')
    expect(() => open?.gateway.connection.open('x')).toThrow()
  })
})

describe('a connection', () => {
  it('notices a peer that only ends its half', async () => {
    open = await pair('tcp')
    open.sockets.node.end()
    expect(await open.gateway.closed).toMatchObject({ code: 'lost' })
    expect((await open.node.closed).code).toBe('lost')
  })

  it('becomes silent, then gone, when nothing arrives any more', async () => {
    open = await pair('tcp', {}, { gateway: { clock: fastClock(50) } })
    const streamEnd = reading(open.gateway.connection.open('x'))
    open.sockets.node.pause()
    const startedMs = performance.now()
    await expect.poll(() => open?.gateway.silences, { interval: 5 }).toEqual([true])
    expect(await open.gateway.closed).toEqual({
      code: 'gone',
      message: 'nothing was received for 30 seconds',
    })
    expect((performance.now() - startedMs) * 50).toBeGreaterThan(25_000)
    expect((await streamEnd).error).toMatchObject({ code: 'ECONNRESET' })
  })

  it('is kept by PING, and speaks again after silence', async () => {
    open = await pair('tcp', {}, { gateway: { clock: fastClock(50) } })
    await pause(1_500)
    expect(open.gateway.connection.isClosed).toBe(false)
    expect(open.gateway.silences).toEqual([])
    open.sockets.node.pause()
    await expect.poll(() => open?.gateway.silences, { interval: 5 }).toEqual([true])
    open.sockets.node.resume()
    await expect.poll(() => open?.gateway.silences, { interval: 5 }).toEqual([true, false])
  })

  it('is gone when it cannot send for 30 seconds, although it receives', async () => {
    open = await pair('tcp', {}, { gateway: { clock: fastClock(50) }, onOpen: () => undefined })
    // Bytes arrive that the peer's own end knows nothing of.
    const { gateway, node } = open.sockets
    const stream = open.gateway.connection.open('x')
    node.pause()
    const talk = setInterval(
      () => gateway.emit('data', Buffer.from(framesOf(w => w.add(FRAME.ping, 0, Buffer.alloc(8))))),
      20,
    )
    onTestFinished(() => clearInterval(talk))
    // The peer's window ends it; what fills the socket are other frames.
    stream.write(Buffer.alloc(1_048_576))
    for (let index = 0; index < 200; index++)
      open.gateway.connection.sendControl({ type: 'fill', text: 'x'.repeat(60_000) })
    expect(await open.gateway.closed).toEqual({
      code: 'gone',
      message: 'nothing could be sent for 30 seconds',
    })
  })

  it('opens no streams after DRAIN, and lets those in flight end', async () => {
    const port = await httpEngine((_req, res) => void setTimeout(() => res.end('late'), 100))
    open = await pair('tcp', { vllm: port })
    const call = clientOf(open).request({ path: '/', method: 'GET' })
    await expect.poll(() => open?.node.connection.streams).toBe(1)
    open.node.connection.drain(5_000)
    await expect.poll(() => open?.gateway.drains).toEqual([5_000])
    expect(() => open?.gateway.connection.open('vllm')).toThrow('takes no new streams')
    expect(await (await call).body.text()).toBe('late')
  })

  it('limits its streams', async () => {
    open = await pair('tcp', {}, { gateway: { maxStreams: 3 }, onOpen: () => undefined })
    for (let index = 0; index < 3; index++) open.gateway.connection.open('x')
    expect(() => open?.gateway.connection.open('x')).toThrow('too many streams')
    expect(() => open?.gateway.connection.open('')).toThrow()
  })

  it('resets the stream with most unread bytes when all of them exceed the limit', async () => {
    open = await pair(
      'tcp',
      {},
      {
        gateway: { maxUnreadBytes: 100_000 },
        onOpen: (stream, name) => void stream.write(Buffer.alloc(Number(name))),
      },
    )
    const small = open.gateway.connection.open('30000')
    const large = reading(open.gateway.connection.open('10'))
    const largest = open.gateway.connection.open('90000')
    await new Promise(resolve => largest.once('close', resolve))
    expect(largest.errored).toMatchObject({ message: 'too many unread bytes' })
    expect(small.destroyed).toBe(false)
    void large
  })

  it('continues with unknown types from 0x80', async () => {
    const port = await httpEngine((_req, res) => void res.end('fine'))
    open = await pair('tcp', { vllm: port })
    open.sockets.node.write(framesOf(writer => writer.add(0x90, 5, Buffer.alloc(300))))
    expect(await (await clientOf(open).request({ path: '/', method: 'GET' })).body.text()).toBe('fine')
  })
})

function framesOf(write: (writer: FrameWriter) => void): Buffer {
  const writer = new FrameWriter()
  write(writer)
  return Buffer.concat(writer.take())
}

const HELLO = { type: 'hello', protocol: 1, version: 'x', features: [], window: 65_536 } as const
const control = (message: object) => framesOf(w => w.add(FRAME.control, 0, controlBytes(message as never)))
const data = (stream: number, bytes: number) => framesOf(w => w.addData(stream, bytes, [Buffer.alloc(bytes)]))

describe('a gateway whose node is hostile', () => {
  /** A bare socket as node, and one stream that the gateway has opened after `hello`. */
  async function attacked(hello: Buffer = control(HELLO)) {
    const listener = await carriers('tcp')
    const sockets = await listener.dial()
    const gateway = endOf(sockets.gateway, { side: 'gateway', clock: fastClock(20) })
    onTestFinished(() => {
      gateway.connection.close('the test is over')
      listener.close()
    })
    sockets.node.resume()
    sockets.node.write(hello)
    if (hello.length > 0) await Promise.race([gateway.hello, gateway.closed])
    const stream = gateway.connection.isOpen ? gateway.connection.open('vllm') : undefined
    return { gateway, node: sockets.node, stream }
  }

  it.each<[string, Buffer, RegExp]>([
    ['DATA before hello', data(1, 5), /before hello/],
    ['PING before hello', framesOf(w => w.add(FRAME.ping, 0, Buffer.alloc(8))), /before hello/],
    ['CONTROL that is not JSON', framesOf(w => w.add(FRAME.control, 0, Buffer.from('{{'))), /not JSON/],
    [
      'CONTROL in invalid UTF-8',
      framesOf(w => w.add(FRAME.control, 0, Buffer.from([0x22, 0xff, 0x22]))),
      /not JSON/,
    ],
    ['CONTROL without a type', control({ a: 1 }), /no object/],
    ['engines before hello', control({ type: 'engines' }), /before hello/],
    ['another version', control({ ...HELLO, protocol: 2 }), /unknown version/],
    ['no window', control({ ...HELLO, window: 0 }), /window/],
    ['an endless window', control({ ...HELLO, window: 2 ** 40 }), /window/],
    ['features that are no list', control({ ...HELLO, features: {} }), /hello/],
    ['garbage', Buffer.from('GET / HTTP/1.1\r\n\r\n'), /unknown type|invalid/],
  ])('closes after %s', async (_title, bytes, message) => {
    const { gateway } = await attacked(bytes)
    const reason = await gateway.closed
    expect(reason.code).toBe('protocol')
    expect(reason.message).toMatch(message)
  })

  it.each<[string, () => Buffer, RegExp]>([
    ['OPEN', () => framesOf(w => w.add(FRAME.open, 9, Buffer.from('x'))), /OPEN from a node/],
    ['DATA of a stream that was never opened', () => data(2, 1), /never opened/],
    [
      'DATA beyond the credit',
      () => Buffer.concat(Array.from({ length: 80 }, () => data(1, 16_384))),
      /beyond the credit/,
    ],
    ['DATA after FIN', () => Buffer.concat([framesOf(w => w.add(FRAME.fin, 1)), data(1, 1)]), /after FIN/],
    [
      'two FIN',
      () =>
        framesOf(w => {
          w.add(FRAME.fin, 1)
          w.add(FRAME.fin, 1)
        }),
      /after FIN/,
    ],
    ['no CREDIT', () => framesOf(w => w.addNumber(FRAME.credit, 1, 0)), /CREDIT/],
    [
      'endless CREDIT',
      () =>
        framesOf(w => {
          w.addNumber(FRAME.credit, 1, 0xffff_ffff)
        }),
      /CREDIT/,
    ],
    [
      'a flood of CONTROL',
      () => Buffer.concat(Array.from({ length: 100 }, () => control({ type: 'load' }))),
      /too many CONTROL/,
    ],
  ])('closes after %s', async (_title, bytes, message) => {
    const { gateway, node, stream } = await attacked()
    node.write(bytes())
    const reason = await gateway.closed
    expect(reason.code).toBe('protocol')
    expect(reason.message).toMatch(message)
    expect(stream?.destroyed).toBe(true)
  })

  it('closes a connection that says no hello, also one that drips', async () => {
    for (const isDripping of [false, true]) {
      const { gateway, node } = await attacked(Buffer.alloc(0))
      const start = framesOf(w => w.add(FRAME.control, 0, Buffer.alloc(60_000)))
      let at = 0
      const drip = setInterval(() => isDripping && node.write(start.subarray(at, ++at)), 20)
      expect(await gateway.closed).toEqual({ code: 'protocol', message: 'no hello' })
      clearInterval(drip)
    }
  })

  it.each([
    ['a frame that is skipped', 0x90, 0],
    ['DATA', FRAME.data, 1],
  ])('is gone when only bytes of one endless frame arrive: %s', async (_title, type, stream) => {
    const { gateway, node } = await attacked()
    const endless = Buffer.alloc(16_000, 'x')
    endless.writeUInt8(type, 0)
    endless.writeUIntBE(16_384, 1, 3)
    endless.writeUInt32BE(stream, 4)
    let at = 0
    const drip = setInterval(() => node.write(endless.subarray(at, (at += 8))), 20)
    expect(await gateway.closed).toMatchObject({ code: 'gone' })
    clearInterval(drip)
  })

  it('ignores frames of streams that it has reset itself', async () => {
    const { gateway, node, stream } = await attacked()
    stream?.destroy()
    node.write(
      Buffer.concat([
        data(1, 100),
        framesOf(w => w.add(FRAME.fin, 1)),
        framesOf(w => w.addNumber(FRAME.credit, 1, 5)),
      ]),
    )
    await pause(50)
    expect(gateway.connection.isClosed).toBe(false)
  })

  it('answers a flood of PING with few PONG while nothing is read', async () => {
    const { gateway, node } = await attacked()
    node.pause()
    const flood = framesOf(w => {
      for (let index = 0; index < 1_000; index++) w.add(FRAME.ping, 0, Buffer.alloc(8))
    })
    for (let index = 0; index < 100; index++) node.write(flood)
    await pause(200)
    let answeredBytes = 0
    node.on('data', (bytes: Buffer) => {
      answeredBytes += bytes.length
    })
    node.resume()
    await pause(200)
    expect(gateway.connection.isClosed).toBe(false)
    expect(answeredBytes).toBeLessThan(50_000)
  })
})

describe('a node', () => {
  it('rejects OPEN of an earlier stream, and too many streams', async () => {
    const listener = await carriers('tcp')
    const sockets = await listener.dial()
    const node = endOf(sockets.node, { side: 'node', maxStreams: 2 }, () => undefined)
    onTestFinished(() => {
      node.connection.close('the test is over')
      listener.close()
    })
    const opening = (id: number) => framesOf(w => w.add(FRAME.open, id, Buffer.from('x')))
    let received = Buffer.alloc(0)
    sockets.gateway.on('data', (bytes: Buffer) => {
      received = Buffer.concat([received, bytes])
    })
    sockets.gateway.write(Buffer.concat([control(HELLO), opening(1), opening(2), opening(3)]))
    await expect.poll(() => received.includes(framesOf(w => w.addCode(FRAME.rst, 3, 5)))).toBe(true)
    expect(node.connection.streams).toBe(2)
    sockets.gateway.write(opening(2))
    expect(await node.closed).toMatchObject({ code: 'protocol', message: 'OPEN of an earlier stream' })
  })

  it('can be dialled by a bare socket that sends nothing: it is closed in time', async () => {
    const listener = await carriers('tcp')
    const dialled = listener.dial()
    const sockets = await dialled
    const node = endOf(sockets.node, { side: 'node', clock: fastClock(50) })
    sockets.gateway.resume()
    expect((await node.closed).code).toBe('protocol')
    listener.close()
    connect({ port: 1 }).on('error', () => undefined)
  })
})
