import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CursorSpent, JsonCursor } from '../../src/base/json/cursor.ts'
import { OPEN_ARRAY, OPEN_OBJECT, QUOTE } from '../../src/base/json/grammar.ts'

/** The same bytes in pieces, cut at these places. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const sorted = [...new Set([0, ...places.map(place => place % bytes.length), bytes.length])].sort(
    (a, b) => a - b,
  )
  return sorted.slice(1).map((end, index) => bytes.subarray(sorted[index], end))
}

/** What a cursor has walked through: the value again, with numbers and literals left out. */
function walked(cursor: JsonCursor): unknown {
  const first = cursor.peek()
  if (first === QUOTE) return cursor.text()
  if (first === OPEN_OBJECT) {
    const members: [string, unknown][] = []
    cursor.members(name => void members.push([name, walked(cursor)]))
    return members
  }
  if (first === OPEN_ARRAY) {
    const items: unknown[] = []
    cursor.items(() => void items.push(walked(cursor)))
    return items
  }
  cursor.skip()
  return null
}

/** The same of a value that `JSON.parse` has given. */
function seen(value: unknown): unknown {
  if (typeof value === 'string') return value
  if (Array.isArray(value)) return value.map(seen)
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).map(([name, member]) => [name, seen(member)])
  return null
}

const short = fc.string({ unit: 'grapheme', maxLength: 12 })
const places = fc.array(fc.nat(100_000), { maxLength: 12 })
const value = fc.jsonValue({ stringUnit: 'grapheme', maxDepth: 4 })

/** As people and libraries write it: with white space, and with what need not be escaped escaped. */
function written(json: unknown, indent: number, escapes: boolean): Buffer {
  const text = JSON.stringify(json, null, indent)
  return Buffer.from(
    escapes
      ? text.replace(/[\x7f-\uffff]/g, c => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)
      : text,
  )
}

describe('a walk through JSON', () => {
  test('sees what a parser sees, wherever the bytes are cut', () => {
    fc.assert(
      fc.property(value, short, places, fc.nat(2), fc.boolean(), (json, before, cuts, indent, escapes) => {
        const inner = written({ json }, indent, escapes)
        const lead = Buffer.from(JSON.stringify(before))
        const cursor = new JsonCursor(cut(Buffer.concat([lead, inner]), cuts), lead.length, 1_000_000)
        expect(walked(cursor)).toEqual(seen(JSON.parse(inner.toString())))
      }),
      { numRuns: 1_000 },
    )
  })

  test('passes over whatever a value holds, and stands behind it', () => {
    fc.assert(
      fc.property(value, short, places, (json, after, cuts) => {
        const cursor = new JsonCursor(cut(Buffer.from(JSON.stringify([json, after])), cuts), 0, 1_000_000)
        const texts: string[] = []
        let index = 0
        cursor.items(() => {
          if (index++ === 0) cursor.skip()
          else texts.push(cursor.text())
        })
        expect(texts).toEqual([after])
      }),
      { numRuns: 1_000 },
    )
  })

  test('measures a string of any length by its bytes, and shows where it begins', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 600 }), places, (text, cuts) => {
        const json = Buffer.from(JSON.stringify(text))
        const { text: head, lengthBytes } = new JsonCursor(cut(json, cuts), 0, 10_000).head()
        expect(lengthBytes).toBe(json.length - 2)
        expect(head).toBe(json.subarray(1, -1).subarray(0, 256).toString('latin1'))
      }),
      { numRuns: 500 },
    )
  })

  test.each([
    ['many small values', `[${'0,'.repeat(5_000)}0]`],
    ['a string of quotes', JSON.stringify('"'.repeat(5_000))],
    ['a string of backslashes', JSON.stringify('\\'.repeat(5_000))],
    ['white space', `[${' '.repeat(5_000)}]`],
  ])('ends where %s would cost more than was allowed', (_, json) => {
    expect(() => new JsonCursor([Buffer.from(json)], 0, 1_000).skip()).toThrow(CursorSpent)
  })

  test('passes over 20 MB of base64 in a handful of steps', () => {
    const pieces = [
      Buffer.from('"'),
      ...Array.from({ length: 320 }, () => Buffer.alloc(65_536, 'A')),
      Buffer.from('"'),
    ]
    expect(new JsonCursor(pieces, 0, 1_000).head().lengthBytes).toBe(320 * 65_536)
  })
})
