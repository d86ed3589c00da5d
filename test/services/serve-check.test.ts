import { describe, expect, it } from 'vitest'
import { wouldServe } from '../../src/services/serve-check.ts'

const endpoint = (name: string, spec = {}) => ({
  kind: 'endpoint' as const,
  name,
  createdAtMs: 0,
  spec: {
    protocol: 'openai',
    base_url: 'https://api.example.com/v1',
    served_model: 'm',
    upstream_key: { env: 'NOT_SET_HERE' },
    ...spec,
  },
})

describe('the look before a commit', () => {
  it('is content where all that is missing are the secrets, which only the gateway has', async () => {
    expect(await wouldServe(new AbortController().signal)([endpoint('a'), endpoint('b')])).toEqual([])
  })

  it('says why a gateway could not serve the result', async () => {
    const binding = {
      kind: 'binding' as const,
      name: 'gpt a',
      createdAtMs: 0,
      spec: { publication: 'gpt', endpoint: 'a' },
    }
    expect(await wouldServe(new AbortController().signal)([binding])).toEqual([
      expect.stringContaining('there is no endpoint a'),
    ])
  })

  it('is the last moment at which a signal rolls the transaction back', async () => {
    const reason = new Error('interrupted')
    await expect(wouldServe(AbortSignal.abort(reason))([])).rejects.toBe(reason)
  })
})
