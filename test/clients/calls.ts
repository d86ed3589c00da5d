import { expect } from 'vitest'
import { ANTHROPIC_CALLS } from './anthropic.ts'
import type { Call } from './door.ts'
import { OPENAI_CALLS } from './openai.ts'

/** Rerank has no SDK of the two vendors: a plain request. */
const RERANK_CALL: Call = {
  title: 'rerank: the document that shares words with the query comes first, with usage and search units',
  async run(door) {
    const documents = ['bread and butter', 'a gateway for models', 'the sea']
    const answer = await fetch(`${door.url}/v1/rerank`, {
      method: 'POST',
      headers: { authorization: `Bearer ${door.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: door.models.rerank, query: 'which gateway?', documents, top_n: 2 }),
    })
    expect(answer.status).toBe(200)
    expect(await answer.json()).toMatchObject({
      model: door.models.rerank,
      results: [{ index: 1 }, { index: expect.any(Number) }],
      usage: { total_tokens: expect.any(Number) },
      meta: { billed_units: { search_units: 1 } },
    })
  },
}

/** Every use of the real SDKs that a server owes, be it the demo upstream or a gateway in front of it. */
export const CALLS: readonly Call[] = [...OPENAI_CALLS, ...ANTHROPIC_CALLS, RERANK_CALL]
