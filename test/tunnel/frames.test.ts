import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ByteQueue } from '../../src/tunnel/byte-queue.ts'
import { FRAME, FrameReader, type FrameSink, FrameWriter, ProtocolFault } from '../../src/tunnel/frames.ts'

/** Reads bytes in pieces. @returns the frames, with the pieces of DATA joined; or the fault. */
function framesIn(bytes: Buffer, cuts: readonly number[] = []): readonly string[] {
  const frames: string[] = []
  const data = new Map<number, string>()
  const sink: FrameSink = {
    onData: (stream, piece) => {
      data.set(stream, (data.get(stream) ?? '') + piece.toString('latin1'))
    },
    onFrame: (type, stream, payload) => {
      frames.push(`${type} ${stream} ${payload.toString('latin1')}`)
    },
  }
  const reader = new FrameReader(sink)
  const ends = [...new Set(cuts.map(cut => cut % (bytes.length + 1)))].sort((a, b) => a - b)
  let from = 0
  try {
    for (const end of [...ends, bytes.length]) {
      reader.read(bytes.subarray(from, end), end - from)
      from = end
    }
  } catch (error) {
    if (!(error instanceof ProtocolFault)) throw error
    frames.push(`fault: ${error.message}`)
  }
  return [...frames, ...[...data].map(([stream, bytes]) => `data ${stream} ${bytes}`)]
}

const header = (type: number, length: number, stream: number): Buffer => {
  const bytes = Buffer.alloc(8)
  bytes.writeUInt8(type, 0)
  bytes.writeUIntBE(length, 1, 3)
  bytes.writeUInt32BE(stream, 4)
  return bytes
}

const frame = fc.oneof(
  fc.record({
    type: fc.constant(FRAME.open),
    stream: fc.integer({ min: 1, max: 99 }),
    length: fc.integer({ min: 1, max: 64 }),
  }),
  fc.record({
    type: fc.constant(FRAME.credit),
    stream: fc.integer({ min: 1, max: 99 }),
    length: fc.constant(4),
  }),
  fc.record({
    type: fc.constant(FRAME.fin),
    stream: fc.integer({ min: 1, max: 99 }),
    length: fc.constant(0),
  }),
  fc.record({ type: fc.constant(FRAME.ping), stream: fc.constant(0), length: fc.constant(8) }),
  fc.record({
    type: fc.constant(FRAME.control),
    stream: fc.constant(0),
    length: fc.integer({ min: 2, max: 300 }),
  }),
  fc.record({ type: fc.integer({ min: 0x80, max: 0xff }), stream: fc.nat(9), length: fc.nat(99) }),
)

describe('the reader of frames', () => {
  it('reads what the writer wrote, however the bytes are cut', () => {
    fc.assert(
      fc.property(
        fc.array(frame, { maxLength: 12 }),
        fc.array(fc.nat(5_000), { maxLength: 20 }),
        (all, cuts) => {
          const writer = new FrameWriter()
          const expected: string[] = []
          for (const { type, stream, length } of all) {
            const payload = Buffer.alloc(length, 'x')
            writer.add(type, stream, payload)
            if (type < 0x80) expected.push(`${type} ${stream} ${'x'.repeat(length)}`)
          }
          const bytes = Buffer.concat(writer.take())
          expect(framesIn(bytes, cuts)).toEqual(expected)
        },
      ),
    )
  })

  it('passes DATA in the pieces in which it comes', () => {
    const writer = new FrameWriter()
    writer.addData(7, 10_000, [Buffer.alloc(9_000, 'a'), Buffer.alloc(1_000, 'b')])
    const parts = writer.take()
    expect(parts).toHaveLength(3)
    const bytes = Buffer.concat(parts)
    const [data] = framesIn(bytes, [3, 8, 100, 9_500])
    expect(data === `data 7 ${'a'.repeat(9_000)}${'b'.repeat(1_000)}`).toBe(true)
  })

  it.each([
    ['DATA without bytes', header(FRAME.data, 0, 1)],
    ['DATA beyond 16 KiB', header(FRAME.data, 16_385, 1)],
    ['DATA of no stream', header(FRAME.data, 5, 0)],
    ['PING of a stream', header(FRAME.ping, 8, 1)],
    ['a short CREDIT', header(FRAME.credit, 3, 1)],
    ['FIN with a payload', header(FRAME.fin, 1, 1)],
    ['a long name', header(FRAME.open, 65, 1)],
    ['CONTROL beyond 64 KiB', header(FRAME.control, 65_537, 0)],
    ['an unknown type', header(0x0a, 0, 0)],
    ['type 0', header(0, 0, 0)],
    ['16 MiB of a skipped type', header(0xff, 0xff_ffff, 0)],
  ])('rejects %s by its header alone', (_title, bytes) => {
    expect(framesIn(bytes)[0]).toMatch(/^fault: /)
  })

  it('finds a fault or frames in any bytes, and neither hangs nor keeps more than one frame', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 4_000 }),
        fc.array(fc.nat(4_000), { maxLength: 9 }),
        (noise, cuts) => {
          const bytes = Buffer.from(noise)
          expect(framesIn(bytes, cuts)).toEqual(framesIn(bytes))
        },
      ),
      { numRuns: 500 },
    )
  })
})

describe('a queue of bytes', () => {
  it('gives back what was added, in order, in few blocks', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.constant(-1), fc.nat(40_000)), { maxLength: 30 }), steps => {
        const queue = new ByteQueue()
        let written = 0
        let read = 0
        for (const step of steps) {
          if (step >= 0) {
            queue.add(Buffer.from(Array.from({ length: step }, (_, index) => (written + index) & 0xff)))
            written += step
            continue
          }
          const block = queue.shift()
          if (block && !block.every((byte, index) => byte === ((read + index) & 0xff))) return false
          read += block?.length ?? 0
        }
        return queue.length === written - read
      }),
      { numRuns: 60 },
    )
  })

  it('copies single bytes together', () => {
    const queue = new ByteQueue()
    for (let index = 0; index < 100_000; index++) queue.add(Buffer.of(1))
    let blocks = 0
    while (queue.shift()) blocks++
    expect(blocks).toBeLessThan(10)
  })
})
