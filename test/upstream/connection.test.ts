import type { Socket } from 'node:net'
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import fc from 'fast-check'
import { Client, type Dispatcher } from 'undici'
import { describe, expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { ConnectionClosed, type UpstreamConnection } from '../../src/upstream/connection.ts'
import { ClientPool } from '../../src/upstream/pools.ts'
import { bareUpstream } from '../support/bare-upstream.ts'
import { type ReaderOptions, responseOn } from '../support/upstream-response.ts'
import { cut } from './filtering.ts'

/** What came of one request. */
interface Received {
  readonly status: number
  readonly headers: string
  readonly body: string
  readonly isComplete: boolean
}

const REQUEST = 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n'

function poolOf(url: string): ClientPool {
  const pool = new ClientPool({ origin: url, connectMs: 5_000 }, systemClock)
  onTestFinished(() => pool.destroy())
  return pool
}

async function receive(connection: UpstreamConnection, options?: ReaderOptions): Promise<Received> {
  const { status, headers, body, error } = await responseOn(connection, REQUEST, options)
  return { status, headers: headers.join('|'), body, isComplete: error === undefined }
}

/** The same by undici. */
function receiveByUndici(url: string, takes: (piece: Buffer) => boolean): Promise<Received> {
  const client = new Client(url, { pipelining: 1 })
  onTestFinished(() => void client.destroy())
  const pieces: Buffer[] = []
  let status = 0
  let headers = ''
  return new Promise(resolve => {
    const end = (isComplete: boolean) => () =>
      resolve({ status, headers, body: Buffer.concat(pieces).toString('latin1'), isComplete })
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart: () => undefined,
      onResponseStart: (controller, received) => {
        if (received < 200) return
        status = received
        headers = (controller.rawHeaders as Buffer[]).join('|')
      },
      onResponseData: (controller, piece) => {
        pieces.push(piece)
        if (takes(piece)) return
        controller.pause()
        setImmediate(() => controller.resume())
      },
      onResponseEnd: end(true),
      onResponseError: end(false),
    }
    client.dispatch({ method: 'POST', path: '/', body: 'x' }, handler)
  })
}

const HEAD = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'
const LAST = '0\r\n\r\n'
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`

/** Writes the pieces, each of which is mostly a read of its own; then ends if it is said. */
async function write(socket: Socket, pieces: readonly Uint8Array[], ends: boolean): Promise<void> {
  for (const piece of pieces) {
    socket.write(piece)
    await nextTurn()
    await nextTurn()
  }
  if (ends) socket.end()
}

describe('an answer in chunks', () => {
  it('is received, one or several of them in a read, and the connection serves on', async () => {
    const texts = ['one', 'two two', 'x'.repeat(5_000), '\r\n', '0\r\n\r\n']
    const reads = [`${HEAD}${chunk('first')}`, ...texts.map(chunk), `${texts.map(chunk).join('')}${LAST}`]
    const upstream = await bareUpstream(onTestFinished, socket => {
      void write(
        socket,
        reads.map(each => Buffer.from(each)),
        false,
      )
    })
    const pool = poolOf(upstream.url)
    for (let time = 0; time < 3; time++) {
      const connection = pool.take()
      expect(await receive(connection)).toMatchObject({
        body: `first${texts.join('')}${texts.join('')}`,
        isComplete: true,
      })
      pool.release(connection)
    }
    expect(upstream.open()).toBe(1)
  })

  it('is not read from after its reader stopped it, until it is resumed', async () => {
    const peers: Socket[] = []
    const upstream = await bareUpstream(onTestFinished, socket => {
      peers.push(socket)
      socket.write(`${HEAD}${chunk('first')}`)
    })
    const taken: string[] = []
    let resume = (): void => undefined
    const received = receive(poolOf(upstream.url).take(), {
      takes: piece => {
        taken.push(piece.toString())
        return taken.length !== 2
      },
      onFull: again => {
        resume = again
      },
    })
    await expect.poll(() => taken).toEqual(['first'])
    peers[0]?.write(chunk('second'))
    await expect.poll(() => taken).toEqual(['first', 'second'])
    peers[0]?.write(chunk('third'))
    await pause(50)
    expect(taken).toHaveLength(2)
    resume()
    await expect.poll(() => taken).toEqual(['first', 'second', 'third'])
    peers[0]?.write(LAST)
    expect(await received).toMatchObject({ body: 'firstsecondthird', isComplete: true })
  })

  it('ends only once its reader has taken the last of it', async () => {
    const upstream = await bareUpstream(onTestFinished, socket =>
      socket.write(`${HEAD}${chunk('all')}${LAST}`),
    )
    const pool = poolOf(upstream.url)
    const connection = pool.take()
    let resume: (() => void) | undefined
    let isOver = false
    const received = receive(connection, {
      takes: () => false,
      onFull: again => {
        resume = again
      },
    }).finally(() => {
      isOver = true
    })
    await expect.poll(() => resume).toBeDefined()
    for (let turn = 0; turn < 5; turn++) await nextTurn()
    expect(isOver).toBe(false)
    resume?.()
    expect(await received).toMatchObject({ body: 'all', isComplete: true })
    // It reads again.
    pool.release(connection)
    expect(pool.take()).toBe(connection)
    expect(await receive(connection)).toMatchObject({ body: 'all', isComplete: true })
  })
})

describe('bytes without a request', () => {
  const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
  const POISON = 'HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\npoison'

  it.each<[string, (socket: Socket) => void]>([
    ['in the read of an answer', socket => socket.write(OK + POISON)],
    [
      'in a packet of their own, right behind it',
      socket => {
        socket.write(OK)
        setImmediate(() => socket.write(POISON))
      },
    ],
  ])('%s are never the answer to the next one', async (_title, answer) => {
    let connections = 0
    const upstream = await bareUpstream(onTestFinished, (socket, nth) => {
      if (nth === 1) connections++
      answer(socket)
    })
    const pool = poolOf(upstream.url)
    for (let time = 0; time < 20; time++) {
      const connection = pool.take()
      expect(await receive(connection)).toMatchObject({ body: 'ok', isComplete: true })
      pool.release(connection)
      // The next request comes when they have arrived.
      await pause(5)
    }
    expect(connections).toBe(20)
  })

  it('that have arrived unread when the next request is at hand close the connection', async () => {
    let peer: Socket | undefined
    const upstream = await bareUpstream(onTestFinished, socket => {
      peer = socket
      socket.write(OK)
    })
    const pool = poolOf(upstream.url)
    for (let time = 0; time < 20; time++) {
      const connection = pool.take()
      expect(await receive(connection)).toMatchObject({ body: 'ok', isComplete: true })
      pool.release(connection)
      peer?.write(POISON)
      // In the turn of the release the connection rests: its request is not sent before it was read from.
      const next = pool.take()
      expect(next).toBe(connection)
      const { body, error } = await responseOn(next, REQUEST)
      expect({ body, error }).toEqual({ body: '', error: expect.any(ConnectionClosed) as Error })
      pool.drop(next)
    }
  })
})

describe('any answer', () => {
  const size = (length: number) =>
    fc.constantFrom(
      length.toString(16),
      length.toString(16).toUpperCase(),
      `0${length.toString(16)}`,
      `000000${length.toString(16)}`,
      `${length.toString(16)};a=b`,
      `${length.toString(16)};a="\r`,
      `${length.toString(16)} `,
      `+${length.toString(16)}`,
      `0x${length.toString(16)}`,
      `${length + 1}`,
      '',
      'ffffffffffffffffff',
    )
  const data = fc.oneof(
    fc.constantFrom('\r\n', '0\r\n\r\n', '\r', '5\r\nhello\r\n', 'data: {}\n\n', '\r\n\r\n'),
    fc.string({ minLength: 1, maxLength: 40 }).map(text => Buffer.from(text).toString('latin1')),
    fc.integer({ min: 1, max: 70_000 }).map(length => '='.repeat(length)),
  )
  const anyChunk = data.chain(text =>
    fc.oneof(
      { weight: 20, arbitrary: fc.constant(chunk(text)) },
      size(text.length).map(line => `${line}\r\n${text}\r\n`),
      fc.constantFrom(
        `${text.length.toString(16)}zz${text}\r\n`,
        `${text.length.toString(16)}\n${text}\n`,
        chunk(text).slice(0, -2),
        `${chunk(text)}x`,
      ),
    ),
  )
  const end = fc.oneof(
    { weight: 6, arbitrary: fc.constant(LAST) },
    fc.constantFrom(
      '',
      '0\r\nx: y\r\n\r\n',
      '00\r\n\r\n',
      '0;a\r\n\r\n',
      `${LAST}more`,
      '0\r\n',
      `${LAST}${HEAD}${LAST}`,
    ),
  )
  const head = fc.oneof(
    { weight: 10, arbitrary: fc.constant(HEAD) },
    fc.constantFrom(
      'HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n',
      'HTTP/1.1 200 OK\r\n\r\n',
      'HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n',
      `HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n${HEAD}`,
    ),
  )

  it('is received as by undici, cut anywhere, by slow readers, too', { timeout: 60_000 }, async () => {
    let completed = 0
    const answers = fc.tuple(
      head,
      fc.array(anyChunk, { maxLength: 8 }),
      end,
      fc.array(fc.nat(300), { maxLength: 4 }),
      fc.nat(2),
      fc.array(fc.boolean(), { minLength: 1, maxLength: 5 }),
    )
    await fc.assert(
      fc.asyncProperty(answers, async ([first, chunks, last, positions, together, taking]) => {
        const text = [first, ...chunks, last]
        const ends = text.map((_, index) => text.slice(0, index + 1).join('').length)
        const at = [...ends.filter((_, index) => together === 0 || index % together === 0), ...positions]
        const pieces = cut(Buffer.from(text.join(''), 'latin1'), at)
        const upstream = await bareUpstream(onTestFinished, socket => void write(socket, pieces, true))
        const takes = () => {
          let count = 0
          return () => taking[count++ % taking.length] ?? true
        }
        const [received, expected] = await Promise.all([
          receive(poolOf(upstream.url).take(), { takes: takes() }),
          receiveByUndici(upstream.url, takes()),
        ])
        expect(received).toEqual(expected)
        if (received.isComplete) completed++
      }),
      { numRuns: 1_000 },
    )
    expect(completed).toBeGreaterThan(100)
  })
})
