import type { Socket } from 'node:net'
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import fc from 'fast-check'
import type { Dispatcher } from 'undici'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ConnectionReader } from '../../src/upstream/connection-reader.ts'
import { buildConnector, Client, readerOf } from '../../src/upstream/undici.ts'
import { bareUpstream } from '../support/bare-upstream.ts'
import { cut } from './filtering.ts'

/** What came of one request. */
interface Received {
  readonly headers: string
  readonly body: string
  /** Absent: the answer is complete. */
  readonly error: string | undefined
  /** Bytes that undici's parser did not see. */
  readonly passedBytes: number
}

/** A client whose connections have a reader, or one as undici makes it. */
class TestClient {
  readonly #client: Client
  #reader: ConnectionReader | undefined

  constructor(url: string, isRead: boolean) {
    const onread = isRead ? { onread: ConnectionReader.options() } : {}
    const connect = buildConnector({ allowH2: false, ...onread })
    this.#client = new Client(url, { connect, pipelining: 1 })
    onTestFinished(() => void this.#client.destroy())
    if (!isRead) return
    this.#client.on('connect', () => {
      this.#reader = readerOf(this.#client)
      expect(this.#reader).toBeInstanceOf(ConnectionReader)
    })
  }

  /**
   * @param takes Whether a piece leaves room for more.
   * @param onFull Called if it does not; by default the answer is resumed a turn later.
   */
  get(
    takes: (piece: Buffer) => boolean = () => true,
    onFull: (resume: () => void) => void = resume => void setImmediate(resume),
  ): Promise<Received> {
    const pieces: Buffer[] = []
    let passedBytes = 0
    let headers = ''
    return new Promise(resolve => {
      const end = (error?: Error): void => {
        if (this.#reader) this.#reader.sink = undefined
        const body = Buffer.concat(pieces).toString('latin1')
        resolve({
          headers,
          body,
          error: error && ('code' in error ? String(error.code) : error.name),
          passedBytes,
        })
      }
      let resume = (): void => undefined
      const take = (piece: Buffer): boolean => {
        pieces.push(Buffer.from(piece))
        if (takes(piece)) return true
        onFull(() => resume())
        return false
      }
      const onChunks = (bytes: Buffer): boolean => {
        passedBytes += bytes.length
        const goesOn = take(bytes)
        bytes.fill('#') // the memory is used again
        return goesOn
      }
      const handler: Dispatcher.DispatchHandler = {
        onRequestStart: () => undefined,
        onResponseStart: controller => {
          headers = (controller.rawHeaders as Buffer[]).join('|')
          resume = () => {
            controller.resume()
            this.#reader?.resume()
          }
          if (this.#reader) this.#reader.sink = { onChunks }
        },
        onResponseData: (controller, piece) => {
          if (!take(piece)) controller.pause()
        },
        onResponseEnd: () => end(),
        onResponseError: (_controller, error) => end(error),
      }
      this.#client.dispatch({ method: 'POST', path: '/', body: 'x' }, handler)
    })
  }
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

/** The same answers to a client with a reader and to one without. */
async function clients(answers: () => { readonly pieces: readonly Uint8Array[]; readonly ends: boolean }) {
  const upstream = await bareUpstream(onTestFinished, socket => {
    const { pieces, ends } = answers()
    void write(socket, pieces, ends)
  })
  return [new TestClient(upstream.url, true), new TestClient(upstream.url, false)] as const
}

describe('chunks of an answer', () => {
  it('pass undici’s parser by, one or several in a read', async () => {
    const texts = ['one', 'two two', 'x'.repeat(5_000), '\r\n', '0\r\n\r\n']
    const reads = [`${HEAD}${chunk('first')}`, ...texts.map(chunk), `${texts.map(chunk).join('')}${LAST}`]
    const [read] = await clients(() => ({ pieces: reads.map(each => Buffer.from(each)), ends: false }))
    for (let time = 0; time < 3; time++) {
      const { body, error, passedBytes } = await read.get()
      expect({ body, error }).toEqual({ body: `first${texts.join('')}${texts.join('')}`, error: undefined })
      expect(passedBytes).toBeGreaterThan(5_000)
    }
  })

  it('wait for a slow reader', async () => {
    const reads = [HEAD, ...Array.from({ length: 50 }, (_, index) => chunk(`<${index}>`)), LAST]
    const [read, plain] = await clients(() => ({ pieces: reads.map(each => Buffer.from(each)), ends: false }))
    const slow = () => {
      let pieces = 0
      return () => pieces++ % 3 === 0
    }
    const { passedBytes, ...received } = await read.get(slow())
    expect(passedBytes).toBeGreaterThan(50)
    expect({ ...received, passedBytes: 0 }).toEqual(await plain.get(slow()))
  })
})

it('is not read from after its sink refused, until it is resumed', async () => {
  const peers: Socket[] = []
  const upstream = await bareUpstream(onTestFinished, socket => {
    peers.push(socket)
    socket.write(`${HEAD}${chunk('first')}`)
  })
  const client = new TestClient(upstream.url, true)
  const taken: string[] = []
  let resume = (): void => undefined
  const received = client.get(
    piece => {
      taken.push(piece.toString())
      return taken.length !== 2
    },
    again => {
      resume = again
    },
  )
  await expect.poll(() => taken).toEqual(['first'])
  peers[0]?.write(chunk('second'))
  await expect.poll(() => taken).toEqual(['first', 'second'])
  peers[0]?.write(chunk('third'))
  await pause(50)
  expect(taken).toHaveLength(2)
  resume()
  await expect.poll(() => taken).toEqual(['first', 'second', 'third'])
  peers[0]?.write(LAST)
  expect(await received).toMatchObject({ body: 'firstsecondthird', error: undefined, passedBytes: 11 })
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

  it('is received as by undici alone, cut anywhere, by slow readers, too', { timeout: 60_000 }, async () => {
    let answer: { pieces: Uint8Array[]; ends: boolean } = { pieces: [], ends: true }
    let passedInAll = 0
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
        answer = { pieces: cut(Buffer.from(text.join(''), 'latin1'), at), ends: true }
        const [read, plain] = await clients(() => answer)
        const reader = () => {
          let count = 0
          return () => taking[count++ % taking.length] ?? true
        }
        const [received, expected] = await Promise.all([read.get(reader()), plain.get(reader())])
        expect({ ...received, passedBytes: 0 }).toEqual(expected)
        passedInAll += received.passedBytes
      }),
      { numRuns: 1_000 },
    )
    expect(passedInAll).toBeGreaterThan(1_000_000)
  })
})
