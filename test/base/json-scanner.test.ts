import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { JsonScanner } from '../../src/base/json/scanner.ts'

/** Pushes `bytes` cut at `cuts` and says what came of it. */
function scan(bytes: Buffer, cuts: readonly number[] = []): JsonScanner {
  const scanner = new JsonScanner()
  let from = 0
  for (const to of [...cuts, bytes.length].sort((a, b) => a - b)) {
    scanner.push(bytes.subarray(from, to), from)
    from = to
  }
  return scanner
}

function accepts(text: string): boolean {
  return scan(Buffer.from(text)).done
}

function parses(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const ODD_TEXTS = [
  '',
  ' ',
  '{}',
  ' { } ',
  '{"a":1}',
  '{"a":1,}',
  '{,}',
  '{"a"}',
  '{"a":}',
  '{"a":1 "b":2}',
  '{a:1}',
  "{'a':1}",
  '[1,2',
  '[1,]',
  '[,1]',
  '[]]',
  '{]',
  '[}',
  '0',
  '-0',
  '-',
  '01',
  '1.',
  '.5',
  '1.5e',
  '1e+',
  '1e+5',
  '1E5',
  '1e5.5',
  '+1',
  '0x10',
  'NaN',
  'Infinity',
  'tru',
  'true',
  'truee',
  'nul',
  'null',
  'false',
  '"a',
  '"\\x"',
  '"\\u12"',
  '"\\u12G4"',
  '"\\uD800"',
  '"\t"',
  '"\u007f"',
  '\uFEFF{}',
  '{"a":1}x',
  '{"a":1} {"b":2}',
  '1 2',
  '"a" "b"',
  '{"a":{"b":[1,{"c":null}]}}',
  '\f{}',
  '\u00a0{}',
  '{"a":1}\u0000',
]

function depthOf(value: unknown): number {
  return typeof value === 'object' && value !== null
    ? 1 + Math.max(0, ...Object.values(value).map(depthOf))
    : 0
}

describe('the JSON scanner', () => {
  it.each(ODD_TEXTS)('agrees with JSON.parse about %j', text => {
    expect(accepts(text)).toBe(parses(text))
  })

  it('agrees with JSON.parse about any JSON with a byte changed, removed or doubled', () => {
    const mangled = fc.tuple(fc.json(), fc.nat(), fc.constantFrom('drop', 'double', 'swap'), fc.nat(127))
    fc.assert(
      fc.property(mangled, ([json, at, how, code]) => {
        const place = json.length === 0 ? 0 : at % json.length
        const middle = { drop: '', double: json.charAt(place).repeat(2), swap: String.fromCharCode(code) }[
          how
        ]
        const text = json.slice(0, place) + middle + json.slice(place + 1)
        expect(accepts(text)).toBe(parses(text))
      }),
      { numRuns: 3_000 },
    )
  })

  it('finds every member of the root object: its name unescaped, its value byte for byte, and how deep it is', () => {
    const anyObject = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue())
    fc.assert(
      fc.property(anyObject, fc.constantFrom(undefined, 1, '\t'), (value, indent) => {
        const bytes = Buffer.from(JSON.stringify(value, null, indent))
        const { members } = scan(bytes)
        const found = members.map(({ name, start, end, depth }) => [
          name,
          JSON.parse(bytes.toString('utf8', start, end)),
          depth,
        ])
        const expected = Object.entries(JSON.parse(bytes.toString()) as object)
        expect(found).toEqual(expected.map(([name, each]) => [name, each, depthOf(each)]))
      }),
    )
  })

  it('finds the same however the bytes are cut', () => {
    const text = Buffer.from(
      ' {"mo\\u0064el" : "gpt-ü\\"", "ünï":[1,{"model":2}], "n":-1.5e+10,"t":true,"":null}\n',
    )
    const whole = scan(text)
    expect(whole.members.map(member => member.name)).toEqual(['model', 'ünï', 'n', 't', ''])
    for (let first = 0; first <= text.length; first++) {
      for (let second = first; second <= text.length; second++) {
        const cut = scan(text, [first, second])
        expect(cut.done).toBe(true)
        expect(cut.members).toEqual(whole.members)
      }
    }
  })

  it('reads not a byte beyond the part that it was given, also where an escape is cut in a long string', () => {
    const text = Buffer.from(JSON.stringify({ a: `${'x'.repeat(40)}"${'y'.repeat(40)}"\n` }))
    const whole = scan(text).members
    for (let cut = 0; cut <= text.length; cut++) {
      const scanner = new JsonScanner()
      scanner.push(text, 0, 0, cut)
      scanner.push(text, cut, cut, text.length)
      expect(scanner.done).toBe(true)
      expect(scanner.members).toEqual(whole)
    }
  })

  it('rejects what is nested deeper than its limit, and nothing shallower', () => {
    const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
    expect(accepts(nested(128))).toBe(true)
    expect(scan(Buffer.from(nested(129))).fault).toBe('too_deep')
  })

  it('keeps a bounded part of a root object: more names or members are an error', () => {
    const scanner = new JsonScanner()
    scanner.push(Buffer.from('{"'))
    for (let piece = 0; piece < 70 && !scanner.fault; piece++) scanner.push(Buffer.alloc(1_024, 'a'))
    expect(scanner.fault).toBe('too_wide')
    const many = Array.from({ length: 70_000 }, (_, index) => `"${index}":1`).join(',')
    expect(scan(Buffer.from(`{${many}}`)).fault).toBe('too_wide')
  })

  it('is not done while a value is open', () => {
    expect(accepts('{"a":1')).toBe(false)
    expect(accepts('"a')).toBe(false)
    expect(accepts('12')).toBe(true)
  })
})
