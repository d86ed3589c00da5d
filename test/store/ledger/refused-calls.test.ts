import { describe, expect, it } from 'vitest'
import type { RefusedCall } from '../../../src/schema/ledger.ts'
import { insertRefused, MAX_REFUSED_ROWS, RefusedSample } from '../../../src/store/ledger/refused-calls.ts'
import { inMemory } from './in-memory.ts'
import { openBoth } from './opened.ts'

const refused = (more: Partial<RefusedCall> = {}): RefusedCall => ({
  requestId: 'req_1',
  atMs: 1,
  key: 'app',
  tenant: 'acme',
  askedModel: 'm',
  protocol: 'openai',
  path: '/v1/chat/completions',
  status: 429,
  errorCode: 'rate_limit_requests',
  message: 'Requests per minute',
  count: 1,
  ...more,
})

describe('a sample of refused calls', () => {
  it('has one row for all that are alike, with their number', () => {
    const sample = new RefusedSample()
    for (let nth = 0; nth < 1_000; nth++) sample.add(refused({ requestId: `req_${nth}` }))
    sample.add(refused({ askedModel: 'other' }))
    expect(sample.take()).toEqual([
      refused({ requestId: 'req_0', count: 1_000 }),
      refused({ askedModel: 'other' }),
    ])
    expect(sample.take()).toEqual([])
  })

  it('is bounded: one key with many models fills no log, many keys neither, and each call is counted', () => {
    const sample = new RefusedSample()
    for (let nth = 0; nth < 1_000; nth++) sample.add(refused({ askedModel: `m${nth}` }))
    const ofOne = sample.take()
    expect(ofOne.map(({ count }) => count)).toEqual([1, 1, 1, 1, 1, 995])
    expect(ofOne.at(-1)).toMatchObject({ key: 'app', askedModel: undefined })
    for (let nth = 0; nth < 10_000; nth++) sample.add(refused({ key: `k${nth}` }))
    const ofMany = sample.take()
    expect(ofMany).toHaveLength(101)
    expect(ofMany.at(-1)).toMatchObject({ key: undefined, tenant: undefined, count: 9_900 })
  })
})

it('the log of refused calls keeps the newest rows, and not more', () => {
  const { raw } = inMemory(() => 0)
  raw.transaction(() => {
    for (let nth = 0; nth < 210; nth++)
      insertRefused(
        raw,
        Array.from({ length: 100 }, () => refused({ atMs: nth })),
      )
  })()
  expect(raw.prepare('select count(*), min(at_ms), max(at_ms) from refused_calls').raw().get()).toEqual([
    MAX_REFUSED_ROWS,
    10,
    209,
  ])
})

it('refused calls are in the store a second later at most, and when the ledger is closed', async () => {
  const { ledger, store } = await openBoth()
  ledger.logRefused(refused())
  ledger.logRefused(refused({ requestId: 'req_2' }))
  await ledger.close()
  ledger.logRefused(refused({ requestId: 'too late' }))
  expect(await store.accounting.refusedCalls({ key: 'app', minStatus: 400 })).toEqual([
    { id: 1, ...refused({ count: 2 }) },
  ])
  expect(await store.accounting.refusedCalls({ key: 'other' })).toEqual([])
  expect(await store.accounting.callLogs()).toEqual([])
})
