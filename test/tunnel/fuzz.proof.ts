import process from 'node:process'
import { Duplex } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { type ConnectionHandler, TunnelConnection } from '../../src/tunnel/connection.ts'
import { controlBytes, readEngines, readLoad } from '../../src/tunnel/control.ts'
import { FRAME, FrameReader, type FrameSink, FrameWriter } from '../../src/tunnel/frames.ts'
import type { TunnelStream } from '../../src/tunnel/stream.ts'
import { type Memory, memoryInUse } from '../support/memory.ts'
import { seeded } from '../support/seeded.ts'
import { type TestClock, testClock } from '../support/test-clock.ts'

/** `npm run fuzz` takes an hour. */
const SECONDS = Number(process.env['GW_FUZZ_SECONDS'] ?? 5)
const FIRST_SEED = Number(process.env['GW_SEED'] ?? Date.now() % 1e9)
const ROUNDS_AT_A_TIME = 500
/** What a connection may hold for a peer that reads nothing: frames without credit, and what it was given to send. */
const MAX_HELD_BYTES = 1_048_576
const MAX_UNREAD_BYTES = 200_000
const WINDOW_BYTES = 65_536
const MAX_GROWTH_BYTES = 16_777_216
const MAX_PROCESS_GROWTH_BYTES = 134_217_728

/** The other side of a connection, without a network. */
class FakeCarrier extends Duplex {
  sentBytes = 0
  #isFull = false
  #waiting: (() => void) | undefined
  readonly #peer: Peer

  constructor(peer: Peer) {
    super({ highWaterMark: 16_384 })
    this.#peer = peer
  }

  set isFull(isFull: boolean) {
    this.#isFull = isFull
    if (isFull) return
    const next = this.#waiting
    this.#waiting = undefined
    next?.()
  }

  override _read(): void {}

  override _write(bytes: Buffer, _encoding: string, done: () => void): void {
    this.sentBytes += bytes.length
    this.#peer.read(bytes)
    if (this.#isFull) this.#waiting = done
    else done()
  }
}

const VALID_MESSAGES = 4

type Draw = (below: number) => number

const HELLO = { type: 'hello', protocol: 1, version: 'x', features: [], window: 65_536 }
/** The first are valid. */
const MESSAGES: readonly object[] = [
  HELLO,
  { type: 'engines', engines: [{ name: 'vllm', state: 'up', kind: 'vllm', models: ['m'] }] },
  { type: 'load', load: { vllm: { running: 1, waiting: 0, cache: 0.5 } } },
  { type: 'later', with: ['x'.repeat(9_000)] },
  { type: 'engines', engines: [{ name: '', state: 7 }] },
  { type: 'engines', engines: {} },
  { type: 'load', load: [] },
  { type: 'load', load: { __proto__: null, constructor: { running: -1 } } },
  { type: '' },
  { type: 'x'.repeat(60_000) },
]

/** The peer: knows from what it receives which streams there are, and how much it may send on them. */
class Peer implements FrameSink {
  readonly #draw: Draw
  readonly #reader = new FrameReader(this)
  /** Bytes that may be sent on a stream, by its number. */
  readonly #credit = new Map<number, number>()
  #lastId = 0
  /** Credit that was given in all, of which the limit is 2 GiB. */
  #given = 0
  #controls = 0
  #hasDrained = false

  constructor(draw: Draw) {
    this.#draw = draw
  }

  read(bytes: Buffer): void {
    this.#reader.read(bytes, bytes.length)
  }

  onData(): void {}

  onFrame(type: number, stream: number, payload: Buffer): void {
    const credit = this.#credit.get(stream)
    if (type === FRAME.open) this.#credit.set(stream, WINDOW_BYTES)
    if (type === FRAME.rst) this.#credit.delete(stream)
    if (type === FRAME.credit && credit !== undefined)
      this.#credit.set(stream, credit + payload.readUInt32BE(0))
  }

  /** Mostly a frame that is valid at this time; sometimes one that is not. */
  frame(opensStreams: boolean): Buffer {
    const draw = this.#draw
    const writer = new FrameWriter()
    if (draw(40) === 0) this.#addAny(writer)
    else this.#addValid(writer, opensStreams)
    const bytes = Buffer.concat(writer.take())
    if (bytes.length === 0) return bytes
    const fault = draw(400)
    if (fault === 0) bytes[draw(bytes.length)] = draw(256)
    if (fault === 1) return bytes.subarray(0, draw(bytes.length))
    if (fault === 2) return Buffer.concat([bytes, Buffer.alloc(1 + draw(20), draw(256))])
    return bytes
  }

  #addValid(writer: FrameWriter, opensStreams: boolean): void {
    const draw = this.#draw
    const [stream, credit] = [...this.#credit][draw(this.#credit.size)] ?? [0, 0]
    const kind = draw(12)
    if (kind < 5 && credit > 0) {
      const length = Math.min(credit, 1 + draw(draw(2) === 0 ? 50 : 16_384))
      this.#credit.set(stream, credit - length)
      writer.addData(stream, length, [Buffer.alloc(length, 'd')])
    } else if (kind === 5 && stream > 0 && this.#given < 2e9) {
      const bytes = 1 + draw(100_000)
      this.#given += bytes
      writer.addNumber(FRAME.credit, stream, bytes)
    } else if (kind === 6 && stream > 0) {
      this.#credit.delete(stream)
      if (draw(2) === 0) writer.add(FRAME.fin, stream)
      else writer.addCode(FRAME.rst, stream, draw(10))
    } else if (kind === 7) writer.add(FRAME.ping, 0, Buffer.alloc(8, draw(256)))
    else if (kind === 8) writer.add(0x80 + draw(128), draw(10), Buffer.alloc(draw(1_000)))
    else if (kind === 9 && this.#controls++ < 60)
      writer.add(FRAME.control, 0, controlBytes(MESSAGES[draw(VALID_MESSAGES)] as never))
    else if (kind === 10 && !this.#hasDrained && draw(50) === 0) {
      this.#hasDrained = true
      writer.addNumber(FRAME.drain, 0, draw(2 ** 32))
    } else if (opensStreams) {
      this.#lastId += 1 + draw(3)
      this.#credit.set(this.#lastId, WINDOW_BYTES)
      writer.add(FRAME.open, this.#lastId, Buffer.from('vllm'.slice(0, 1 + draw(4))))
    }
  }

  #addAny(writer: FrameWriter): void {
    const draw = this.#draw
    const stream = draw(10) === 0 ? draw(2 ** 32) : 1 + draw(8)
    const kinds: readonly (() => void)[] = [
      () => writer.add(FRAME.open, stream, Buffer.from('vllm')),
      () => writer.add(FRAME.data, stream, Buffer.alloc(16_384, 'd')),
      () => writer.addNumber(FRAME.credit, stream, draw(2 ** 32)),
      () => writer.add(FRAME.fin, stream),
      () => writer.addCode(FRAME.rst, stream, draw(10)),
      () => writer.add(FRAME.pong, 0, Buffer.alloc(8)),
      () => writer.add(FRAME.control, 0, controlBytes(MESSAGES[draw(MESSAGES.length)] as never)),
      () => writer.add(draw(256), draw(2), Buffer.alloc(draw(70_000))),
    ]
    kinds[draw(kinds.length)]?.()
  }
}

interface Round {
  readonly frames: number
  readonly code: string
}

/** One connection, from its hello to its end, with a peer that sends anything. */
async function runRound(seed: number): Promise<Round> {
  const random = seeded(seed)
  const draw: Draw = below => Math.floor(random() * below)
  const side = draw(2) === 0 ? 'gateway' : 'node'
  const clock: TestClock = testClock()
  const peer = new Peer(draw)
  const carrier = new FakeCarrier(peer)
  const streams: TunnelStream[] = []
  let code = ''
  const follow = (stream: TunnelStream): void => {
    streams.push(stream)
    if (draw(3) > 0) stream.on('data', () => undefined)
  }
  const handler: ConnectionHandler = {
    onHello: () => undefined,
    onControl(message) {
      if (message.type === 'engines') readEngines(message)
      if (message.type === 'load') readLoad(message)
    },
    ...(side === 'node' && { onOpen: follow }),
    onClose: reason => void (code = reason.code),
  }
  const connection = new TunnelConnection(carrier, {
    side,
    clock,
    handler,
    version: 'x',
    windowBytes: WINDOW_BYTES,
    maxStreams: 6,
    maxUnreadBytes: MAX_UNREAD_BYTES,
  })
  const writer = new FrameWriter()
  if (draw(20) > 0) writer.add(FRAME.control, 0, controlBytes(HELLO))
  let pending = Buffer.concat(writer.take())
  let frames = 0
  let writtenBytes = 0
  const local: readonly (() => void)[] = [
    () => {
      if (side === 'gateway' && connection.isOpen && connection.streams < 6) follow(connection.open('vllm'))
    },
    () => {
      const stream = streams[draw(streams.length)]
      const bytes = draw(40_000)
      if (!stream?.writable || stream.writableNeedDrain) return
      writtenBytes += bytes
      stream.write(Buffer.alloc(bytes, 'w'))
    },
    () => void streams[draw(streams.length)]?.end(),
    () => void streams[draw(streams.length)]?.destroy(),
    () => void streams[draw(streams.length)]?.pause(),
    () => void streams[draw(streams.length)]?.resume(),
    () => clock.advance(draw(4_000)),
    () => void (carrier.isFull = draw(2) === 0),
  ]
  const steps = 1 + draw(150)
  for (let step = 0; step < steps && !connection.isClosed; step++) {
    const action = draw(3)
    if (action === 0) local[draw(local.length)]?.()
    else {
      pending = Buffer.concat([
        pending,
        ...Array.from({ length: 1 + draw(5) }, () => peer.frame(side === 'node')),
      ])
      frames++
    }
    // Now and then a cut within a frame.
    const cut = draw(4) === 0 ? draw(pending.length + 1) : pending.length
    if (cut > 0 && !carrier.destroyed) carrier.push(pending.subarray(0, cut))
    pending = Buffer.from(pending.subarray(cut))
    if (draw(3) === 0) await turn()
    const unread = streams.reduce((sum, stream) => sum + (stream.destroyed ? 0 : stream.unread), 0)
    expect(unread, `seed ${seed}: unread bytes`).toBeLessThanOrEqual(MAX_UNREAD_BYTES)
    expect(carrier.writableLength, `seed ${seed}: bytes that wait for the peer`).toBeLessThan(MAX_HELD_BYTES)
    expect(connection.streams, `seed ${seed}: streams`).toBeLessThanOrEqual(6)
  }
  const sent = carrier.sentBytes
  if (!connection.isClosed) {
    if (draw(2) === 0) connection.close('the round is over')
    else carrier.destroy()
  }
  await turn()
  carrier.isFull = false
  clock.advance(60_000)
  await turn()
  expect(code, `seed ${seed}: no end`).not.toBe('')
  expect(connection.streams, `seed ${seed}: streams are left`).toBe(0)
  expect(
    streams.filter(stream => !stream.destroyed),
    `seed ${seed}: streams without an end`,
  ).toEqual([])
  expect(clock.pending, `seed ${seed}: timers are left`).toBe(0)
  // Nothing is sent beyond what was written, and an answer to each frame.
  expect(sent, `seed ${seed}: bytes sent`).toBeLessThan(writtenBytes * 2 + frames * 5 * 64 + 100_000)
  return { frames, code }
}

it(
  `a connection survives ${SECONDS} seconds of a peer that sends anything, and keeps nothing of it`,
  async () => {
    const endsAtMs = performance.now() + SECONDS * 1_000
    const codes: Record<string, number> = {}
    let rounds = 0
    let frames = 0
    let first: Memory | undefined
    let memory = memoryInUse()
    let reportAtMs = performance.now() + 60_000
    do {
      for (let index = 0; index < ROUNDS_AT_A_TIME; index++) {
        const round = await runRound(FIRST_SEED + rounds)
        rounds++
        frames += round.frames
        codes[round.code] = (codes[round.code] ?? 0) + 1
      }
      memory = memoryInUse()
      // What is compiled and kept by then is not the connections'.
      first ??= memory
      expect(memory.objects - first.objects, `objects after seed ${FIRST_SEED + rounds}`).toBeLessThan(
        MAX_GROWTH_BYTES,
      )
      expect(memory.process - first.process, `memory after seed ${FIRST_SEED + rounds}`).toBeLessThan(
        MAX_PROCESS_GROWTH_BYTES,
      )
      if (performance.now() > reportAtMs) {
        reportAtMs += 60_000
        console.log(`${rounds} connections, ${JSON.stringify(memory)}`)
      }
    } while (performance.now() < endsAtMs)
    console.log(
      `${rounds} connections from seed ${FIRST_SEED}, ${frames} groups of frames, ends: ${JSON.stringify(codes)}; bytes: ${JSON.stringify(first)} at first, ${JSON.stringify(memory)} at last`,
    )
    expect(codes['protocol']).toBeGreaterThan(0)
    expect(codes['closed']).toBeGreaterThan(0)
  },
  SECONDS * 1_000 + 120_000,
)
