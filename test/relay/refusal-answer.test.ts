import { describe, expect, it } from 'vitest'
import { RefusalAnswer } from '../../src/relay/answer/refusal.ts'
import { cut, filtered, NAME, octets } from './filtering.ts'

const refusal = (text: string, positions: readonly number[] = []) =>
  filtered(options => new RefusalAnswer(options), cut(Buffer.from(text), positions))
const inside = JSON.stringify(NAME).slice(1, -1)

describe('a refusal of the upstream’s own', () => {
  it('arrives identical but for the served name in quotes, cut at every position', () => {
    const text = String.raw`{"error":{"message":"no \"served-model\", 'served-model' or ${'`served-model`'}; served-model and \"served-model-2\" stay é","served-model" : "served-model"}}`
    const expected = octets(
      String.raw`{"error":{"message":"no \"${inside}\", '${inside}' or ${`\`${inside}\``}; served-model and \"served-model-2\" stay é","served-model" : "${inside}"}}`,
    )
    for (let at = 0; at <= text.length; at++)
      expect(refusal(text, [at])).toMatchObject({ bytes: expected, whole: true })
  })

  it('is renamed where the served name needs escapes itself', () => {
    const result = filtered(
      options => new RefusalAnswer(options),
      [Buffer.from(String.raw`{"model":"a\"$&b"}`)],
      {
        servedModel: 'a"$&b',
        nameJson: Buffer.from('"$&$1"'),
      },
    )
    expect(result.bytes).toBe('{"model":"$&$1"}')
  })

  it('passes as it is where it is longer than any message', () => {
    const text = `"served-model"${'x'.repeat(1_100_000)}"served-model"`
    const result = refusal(text, [500_000, 1_000_000, 1_100_000])
    expect(result.bytes === text).toBe(true)
  })

  it('keeps bytes that are no UTF-8', () => {
    const result = filtered(options => new RefusalAnswer(options), [Buffer.from([0xff, 0x22, 0x80])])
    expect(result.bytes).toBe('\xff"\x80')
  })
})
