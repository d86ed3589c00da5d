import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type SseEvent, SseSplitter } from '../../src/base/sse.ts'

/** Splits `text` cut at `cuts`; gives the events' data and all bytes passed on. */
function split(text: string, cuts: readonly number[] = [], maxHeldBytes = 1_000_000) {
  const bytes = Buffer.from(text)
  const splitter = new SseSplitter(maxHeldBytes)
  const events: { raw: string; data: string[]; part: SseEvent['part']; continues: boolean }[] = []
  let passed = ''
  let from = 0
  for (const to of [...cuts, bytes.length].sort((a, b) => a - b)) {
    const run = splitter.push(bytes.subarray(from, to))
    for (const event of run.events) {
      const data: string[] = []
      for (let pair = 0; pair < event.data.length; pair += 2) {
        data.push(run.bytes.toString('utf8', event.data[pair], event.data[pair + 1]))
      }
      const { part, continues } = event
      events.push({ raw: run.bytes.toString('utf8', event.start, event.end), data, part, continues })
    }
    passed += run.bytes.toString('latin1', 0, run.end)
    from = to
  }
  const held = splitter.end()
  return { events, passed: Buffer.from(passed, 'latin1').toString(), held: held?.toString() ?? '' }
}

const EVENTS = 'event: a\ndata: {"x":1}\n\n: ping\r\n\r\ndata:no space\rdata:  two\r\rdata\n\nid: 7\nfoo\n\n'

describe('the event splitter', () => {
  it('reads data lines with and without a space, several to an event, under all three line ends', () => {
    expect(split(EVENTS).events.map(event => event.data)).toEqual([
      ['{"x":1}'],
      [],
      ['no space', ' two'],
      [''],
      [],
    ])
  })

  it('finds the same events and passes the same bytes however they are cut', () => {
    const whole = split(EVENTS)
    for (let first = 0; first <= EVENTS.length; first++) {
      for (let second = first; second <= EVENTS.length; second++) {
        const cut = split(EVENTS, [first, second])
        expect(cut.passed).toBe(EVENTS)
        expect(cut.events.flatMap(event => event.data)).toEqual(whole.events.flatMap(event => event.data))
      }
    }
  })

  it('passes any bytes on unchanged, and holds only what has no empty line yet', () => {
    const lines = fc.array(fc.constantFrom('data: x', 'data', 'é', '\n', '\r', '\r\n', '\n\n', ':', ''), {
      maxLength: 12,
    })
    fc.assert(
      fc.property(lines, fc.array(fc.nat(60)), (parts, cuts) => {
        const text = parts.join('')
        const size = Buffer.byteLength(text)
        const result = split(
          text,
          cuts.map(cut => Math.min(cut, size)),
        )
        expect(result.passed + result.held).toBe(text)
      }),
      { numRuns: 2_000 },
    )
  })

  it('passes an event that is too long in parts, with the data in each, and finds the next event', () => {
    const text = `data: {"long":"${'x'.repeat(100)}",\nid: 7\ndata: "model":"m"}\n\ndata: next\n\n`
    for (let first = 52; first <= text.length; first++) {
      for (const second of [first + 1, first + 3, 150]) {
        const { events, passed } = split(
          text,
          [20, 40, first, second].map(cut => Math.min(cut, text.length)),
          50,
        )
        expect(passed).toBe(text)
        let joined = ''
        for (const { data, continues } of events.slice(0, -1))
          joined += data.map((line, at) => (continues && at === 0 ? line : `\n${line}`)).join('')
        expect(joined.replaceAll(' ', '')).toBe(`\n{"long":"${'x'.repeat(100)}",\n"model":"m"}`)
        expect(events.at(-1)).toMatchObject({ data: ['next'], part: 'whole', continues: false })
        expect(events.at(-2)?.part).toMatch(/last|whole/)
      }
    }
  })

  it('changes no bytes that it returned before, however many pieces a line comes in', () => {
    const text = `data: ${'é'.repeat(3_000)}\n\ndata: b\n\n`
    const bytes = Buffer.from(text.repeat(3))
    const splitter = new SseSplitter(1_000_000)
    const returned: { bytes: Buffer; was: string }[] = []
    let passed = ''
    for (let from = 0; from < bytes.length; from += 7) {
      const run = splitter.push(bytes.subarray(from, from + 7))
      returned.push({ bytes: run.bytes, was: run.bytes.toString('latin1') })
      passed += run.bytes.toString('latin1', 0, run.end)
    }
    expect(Buffer.from(passed, 'latin1').equals(bytes)).toBe(true)
    for (const { bytes: later, was } of returned) expect(later.toString('latin1') === was).toBe(true)
  })

  it('copies a long line a few times, not once for each of its pieces', () => {
    const splitter = new SseSplitter(1_000_000)
    const piece = Buffer.from('x'.repeat(100))
    const buffers = new Set<ArrayBufferLike>()
    for (let pieces = 0; pieces < 5_000; pieces++) buffers.add(splitter.push(piece).bytes.buffer)
    expect(buffers.size).toBeLessThan(20)
  })
})
