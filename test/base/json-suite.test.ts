import { isUtf8 } from 'node:buffer'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { JsonScanner } from '../../src/base/json/scanner.ts'
import { scanString, WINDOW_BYTES } from '../../src/base/json/string-scan.ts'
import { Utf8Check } from '../../src/base/json/utf8.ts'
import { ACCEPTED, EITHER, REJECTED } from './json-suite-cases.ts'

const DEEP = 200_000

/** Whether both checks of a body take it, whole or a byte at a time. */
function takes(text: string | Buffer, stepBytes: number): boolean {
  const bytes = Buffer.from(text)
  const scanner = new JsonScanner(DEEP)
  const utf8 = new Utf8Check()
  for (let at = 0; at < bytes.length; at += stepBytes) {
    const piece = bytes.subarray(at, at + stepBytes)
    if (!utf8.push(piece) || !scanner.push(piece, at)) return false
  }
  return utf8.end() && scanner.done
}

function parses(text: string | Buffer): boolean {
  const bytes = Buffer.from(text)
  if (!isUtf8(bytes)) return false
  try {
    JSON.parse(bytes.toString())
    return true
  } catch {
    return false
  }
}

describe('the cases of JSONTestSuite', () => {
  it.each(Object.entries(ACCEPTED))('%s is taken', (_name, text) => {
    expect(parses(text)).toBe(true)
    expect([takes(text, 1), takes(text, DEEP)]).toEqual([true, true])
  })

  it.each(Object.entries(REJECTED))('%s is rejected', (_name, text) => {
    expect(parses(text)).toBe(false)
    expect([takes(text, 1), takes(text, 2 * DEEP)]).toEqual([false, false])
  })

  it.each(Object.entries(EITHER))('%s is what JSON.parse thinks it is', (_name, text) => {
    expect([takes(text, 1), takes(text, DEEP)]).toEqual([parses(text), parses(text)])
  })
})

describe('the end of a run of plain characters', () => {
  const ways = [
    ['by vector instructions', scanString()],
    ['where the engine has none', scanString(new Uint8Array(0))],
  ] as const

  it.each(ways)('is found where it stands, %s', (_way, run) => {
    const dense = fc.constantFrom(...Buffer.from('"\\\\\\/bfnrtu\x1f !\0a\x7f\x80\xff', 'latin1'))
    const bytes = fc.uint8Array({ maxLength: 80 })
    const some = fc.oneof(
      bytes,
      fc.array(fc.oneof(dense, fc.constant(0x61)), { maxLength: 80 }).map(a => Uint8Array.from(a)),
    )
    fc.assert(
      fc.property(some, fc.nat(80), fc.nat(80), (given, one, other) => {
        const at = Math.min(one, other, given.length)
        const to = Math.min(Math.max(one, other), given.length)
        run.load(given, 0, given.length)
        const plain = /^(?:[ !#-[\]-\xff]|\\["\\/bfnrt])*/.exec(Buffer.from(given).toString('latin1', at, to))
        expect(run.end(at, to)).toBe(at + (plain?.[0].length ?? 0))
      }),
      { numRuns: 5_000 },
    )
  })

  it('is found across windows, in strings with an escape, a quote or a fault anywhere in them', () => {
    const length = 2 * WINDOW_BYTES + 40
    const places = fc.oneof(
      fc.nat(length - 1),
      fc.integer({ min: WINDOW_BYTES - 20, max: WINDOW_BYTES + 60 }),
    )
    const odd = fc.constantFrom('\\n', '\\u00e9', '\\x', '"', '\u0001', 'é', '\\\\', '\\"')
    fc.assert(
      fc.property(places, odd, places, odd, (one, first, other, second) => {
        const text = Array.from({ length }, () => 'a')
        text[one] = first
        text[other] = second
        const json = `{"a":"${text.join('')}"}`
        expect(takes(json, json.length)).toBe(parses(json))
      }),
      { numRuns: 300 },
    )
  })

  it('is found behind any number of escapes, wherever a string is cut', () => {
    const part = fc.constantFrom('a'.repeat(16), 'a', '\\n', '\\"', '\\\\', '\\/', '\\u00e9', 'é')
    const texts = fc.array(
      fc.oneof({ weight: 40, arbitrary: part }, fc.constantFrom('\\x', '\\', '"', '\n')),
      {
        minLength: 20,
        maxLength: 120,
      },
    )
    fc.assert(
      fc.property(texts, fc.integer({ min: 1, max: 200 }), (parts, pieceBytes) => {
        const json = `{"a":"${parts.join('')}"}`
        expect(takes(json, pieceBytes)).toBe(parses(json))
      }),
      { numRuns: 1_000 },
    )
  })
})
