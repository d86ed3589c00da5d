import { expect, test } from 'vitest'
import { cosine, embed } from '../../src/demo/embeddings.ts'
import { demoUpstream, post } from './demo.ts'

test('a text has one unit vector, always the same; texts that share words lie closer', () => {
  const [sea, wave, tax] = ['the sea is blue', 'the sea is calm', 'annual tax return'].map(text =>
    embed(text, 256),
  )
  expect(embed('the sea is blue', 256)).toEqual(sea)
  expect(Math.hypot(...sea!)).toBeCloseTo(1, 5)
  expect(cosine(sea!, wave!)).toBeGreaterThan(cosine(sea!, tax!) + 0.3)
})

test('POST /v1/embeddings answers a list in the order of the inputs, with usage', async () => {
  const answer = await post(await demoUpstream(), '/v1/embeddings', {
    model: 'm',
    input: ['abcd', 'e'],
    dimensions: 2,
  })
  expect(await answer.json()).toEqual({
    object: 'list',
    data: [0, 1].map(index => ({
      object: 'embedding',
      index,
      embedding: [expect.any(Number), expect.any(Number)],
    })),
    model: 'm',
    usage: { prompt_tokens: 2, total_tokens: 2 },
  })
})

test('base64 holds the same vector as little-endian 32-bit floats', async () => {
  const demo = await demoUpstream()
  const ask = { model: 'm', input: 'text', dimensions: 3 }
  const [floats, base64] = await Promise.all(
    ['float', 'base64'].map(async encoding_format => {
      const answer = await post(demo, '/v1/embeddings', { ...ask, encoding_format })
      return ((await answer.json()) as { data: [{ embedding: unknown }] }).data[0].embedding
    }),
  )
  const bytes = Buffer.from(base64 as string, 'base64')
  expect([0, 4, 8].map(at => bytes.readFloatLE(at))).toEqual(floats)
})

test.each([
  [{ input: 'one' }, 1],
  [{ input: [1, 2, 3] }, 1],
  [{ input: [[1, 2], [3]] }, 2],
])('takes the input %j', async (ask, count) => {
  const answer = await post(await demoUpstream(), '/v1/embeddings', { model: 'm', ...ask })
  expect(((await answer.json()) as { data: unknown[] }).data).toHaveLength(count)
})

test.each([{ input: [] }, {}, { input: 'x', dimensions: 0 }, { input: 'x', dimensions: 1.5 }])(
  'rejects %j',
  async ask => {
    const answer = await post(await demoUpstream(), '/v1/embeddings', { model: 'm', ...ask })
    expect(answer.status).toBe(400)
  },
)
