import { expect, test } from 'vitest'
import { demoUpstream, post } from './demo.ts'

test('POST /v1/rerank sorts by relevance, cuts to top_n and gives the documents back where asked', async () => {
  const answer = await post(await demoUpstream(), '/v1/rerank', {
    model: 'm',
    query: 'blue sea',
    documents: ['a tax return', { text: 'the blue sea' }, 'blue'],
    top_n: 2,
    return_documents: true,
  })
  expect(await answer.json()).toEqual({
    id: expect.stringMatching(/^rerank-/),
    model: 'm',
    results: [
      { index: 1, relevance_score: expect.any(Number), document: { text: 'the blue sea' } },
      { index: 2, relevance_score: expect.any(Number), document: { text: 'blue' } },
    ],
    usage: { prompt_tokens: 9, total_tokens: 9 },
    meta: { billed_units: { search_units: 1 } },
  })
})

test.each([
  { query: 'q' },
  { documents: ['d'] },
  { query: 'q', documents: [] },
  { query: 'q', documents: [1] },
])('rejects %j', async ask => {
  const answer = await post(await demoUpstream(), '/v1/rerank', { model: 'm', ...ask })
  expect(answer.status).toBe(400)
})
