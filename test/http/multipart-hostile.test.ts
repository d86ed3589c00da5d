import { describe, expect, it } from 'vitest'
import { MultipartScanner } from '../../src/http/multipart.ts'
import { BOUNDARY, faultOf, USES } from './multipart-bodies.ts'

const PIECE_BYTES = 65_536
const BODY_BYTES = 10_000_000
/** Far above what linear work takes on a busy machine, far below quadratic work. */
const BOUND_MS = 2_000

/** Pushes a piece again and again; the fault and the time that it took. */
function pushAll(
  boundary: string,
  head: string,
  piece: Buffer,
  totalBytes = BODY_BYTES,
): { code: string | undefined; ms: number; scanner: MultipartScanner } {
  const scanner = new MultipartScanner(boundary, USES)
  const start = performance.now()
  scanner.push(Buffer.from(head), 0)
  let offset = head.length
  while (offset < totalBytes && scanner.push(piece, offset)) offset += piece.length
  return { code: scanner.fault?.code, ms: performance.now() - start, scanner }
}

function file(boundary: string): string {
  return `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n`
}

describe('a hostile body takes bounded time and memory', () => {
  const LONG = 'a'.repeat(69)
  it.each([
    ['all but the first dash', `${LONG}b`, `-${LONG}b`],
    ['all but the last character', `${LONG}b`, `\r\n--${LONG}`],
    ['a run of the first character', `${'-'.repeat(69)}b`, '-'],
    ['a run of the last character', `b${LONG}`, 'a'],
    ['all but one in the middle', `${'a'.repeat(35)}b${'a'.repeat(34)}`, `--${'a'.repeat(36)}b`],
    ['CRLF and dashes', BOUNDARY, '\r\n--'],
    ['CRLF', BOUNDARY, '\r\n'],
    ['a boundary of one character', 'x', '\r\n-'],
  ])('almost a boundary, all over a file: %s', (_title, boundary, almost) => {
    for (const bytes of [PIECE_BYTES, 65_521]) {
      const { code, ms } = pushAll(boundary, file(boundary), Buffer.alloc(bytes, almost))
      expect(code).toBe(undefined)
      expect(ms).toBeLessThan(BOUND_MS)
    }
  })

  it('in pieces of one byte', () => {
    const { code, ms } = pushAll(BOUNDARY, file(BOUNDARY), Buffer.from('-'), 200_000)
    expect(code).toBe(undefined)
    expect(ms).toBeLessThan(BOUND_MS)
  })

  it('a million tiny parts', () => {
    const parts = Buffer.from(`${file(BOUNDARY)}\r\n`.repeat(1_000_000))
    const { code, ms, scanner } = pushAll(BOUNDARY, '', parts, parts.length)
    expect(code).toBe('too_many_parts')
    expect(scanner.parts).toHaveLength(1_000)
    expect(ms).toBeLessThan(BOUND_MS)
  })

  it('a thousand parts are served, one more is not', () => {
    const of = (count: number) => `${`${file(BOUNDARY)}\r\n`.repeat(count)}--${BOUNDARY}--`
    expect(faultOf(of(1_000))).toBe(undefined)
    expect(faultOf(of(1_001))).toBe('too_many_parts')
  })

  it('header lines without end', () => {
    const { code, ms } = pushAll(BOUNDARY, `--${BOUNDARY}\r\n`, Buffer.alloc(PIECE_BYTES, 'X-Y: z\r\n'))
    expect(code).toBe('header_too_large')
    expect(ms).toBeLessThan(BOUND_MS)
    const { code: byBytes } = pushAll(BOUNDARY, `--${BOUNDARY}\r\nX: `, Buffer.from('x'), 20_000)
    expect(byBytes).toBe('header_too_large')
  })

  it('long header lines in many parts', () => {
    const part = `${file(BOUNDARY).replace('\r\n\r\n', `\r\nX: ${'x'.repeat(8_000)}\r\n\r\n`)}\r\n`
    expect(faultOf(`${part.repeat(30)}--${BOUNDARY}--`)).toBe(undefined)
    expect(faultOf(`${part.repeat(40)}--${BOUNDARY}--`)).toBe('header_too_large')
  })

  it.each([
    ['spaces', ' '],
    ['semicolons', ';'],
    ['quotes', '"'],
    ['backslashes', '\\'],
    ['escaped quotes', '\\"'],
    ['escaped quotes and spaces', '\\" '],
    ['parameters', ';a=b'],
    ['percent signs', '%2'],
    ['brackets', '['],
  ])('a header of %s', (_title, filler) => {
    const start = performance.now()
    for (const shape of [
      'form-data; name="#"',
      'form-data; name=a; filename="#"',
      'form-data; name=a#',
      'form-data#',
    ]) {
      const value = shape.replace('#', () => filler.repeat(8_000 / filler.length))
      for (let count = 0; count < 30; count++) {
        faultOf(`--${BOUNDARY}\r\nContent-Disposition: ${value}\r\n\r\n\r\n--${BOUNDARY}--`)
      }
    }
    expect(performance.now() - start).toBeLessThan(BOUND_MS)
  })
})
