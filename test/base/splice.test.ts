import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { extract, splice } from '../../src/base/splice.ts'

const cutText = fc.tuple(fc.string({ unit: 'binary-ascii' }), fc.array(fc.nat(50))).map(([text, cuts]) => {
  const bytes = Buffer.from(text)
  const at = [0, ...cuts.map(cut => Math.min(cut, bytes.length)), bytes.length].sort((a, b) => a - b)
  return { text, pieces: at.slice(1).map((to, index) => bytes.subarray(at[index], to)) }
})

describe('splicing pieces', () => {
  it('replaces exactly the bytes named, wherever the pieces were cut', () => {
    fc.assert(
      fc.property(
        cutText,
        fc.array(fc.nat(50), { maxLength: 4 }),
        fc.string(),
        ({ text, pieces }, places, word) => {
          const at = places.map(place => Math.min(place, text.length)).sort((a, b) => a - b)
          const edits = []
          let expected = ''
          let kept = 0
          for (let pair = 0; pair + 1 < at.length; pair += 2) {
            const [start = 0, end = 0] = at.slice(pair, pair + 2)
            edits.push({ start, end, bytes: Buffer.from(word) })
            expected += text.slice(kept, start) + word
            kept = end
          }
          expected += text.slice(kept)
          expect(Buffer.concat(splice(pieces, edits)).toString()).toBe(expected)
        },
      ),
    )
  })

  it('extracts exactly the bytes named', () => {
    fc.assert(
      fc.property(cutText, fc.nat(50), fc.nat(50), ({ text, pieces }, one, other) => {
        const [start, end] = [Math.min(one, other, text.length), Math.min(Math.max(one, other), text.length)]
        expect(extract(pieces, start, end).toString()).toBe(text.slice(start, end))
      }),
    )
  })
})
