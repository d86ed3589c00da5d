import { isUtf8 } from 'node:buffer'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Utf8Check } from '../../src/base/json/utf8.ts'

function check(bytes: Buffer, cuts: readonly number[]): boolean {
  const utf8 = new Utf8Check()
  let from = 0
  for (const to of [...cuts, bytes.length].sort((a, b) => a - b)) {
    if (!utf8.push(bytes.subarray(from, to))) return false
    from = to
  }
  return utf8.end()
}

describe('the UTF-8 check', () => {
  it('accepts characters of every length, however they are cut', () => {
    const bytes = Buffer.from('aé€😀é😀€a')
    for (let first = 0; first <= bytes.length; first++) {
      for (let second = first; second <= bytes.length; second++) {
        for (let third = second; third <= bytes.length; third++) {
          expect(check(bytes, [first, second, third])).toBe(true)
        }
      }
    }
  })

  it('agrees with the whole about any bytes, however they are cut', () => {
    const nearText = fc.array(fc.oneof(fc.nat(255), fc.constantFrom(0x80, 0xbf, 0xc2, 0xe2, 0xf0, 0xff)), {
      maxLength: 12,
    })
    fc.assert(
      fc.property(nearText, fc.array(fc.nat(12), { maxLength: 6 }), (bytes, cuts) => {
        const buffer = Buffer.from(bytes)
        expect(
          check(
            buffer,
            cuts.map(cut => Math.min(cut, buffer.length)),
          ),
        ).toBe(isUtf8(buffer))
      }),
      { numRuns: 5_000 },
    )
  })
})
