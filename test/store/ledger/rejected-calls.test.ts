import { describe, expect, it } from 'vitest'
import type { RejectedCall } from '../../../src/schema/ledger.ts'
import {
  insertRejected,
  MAX_REJECTED_ROWS,
  RejectedSample,
} from '../../../src/store/ledger/rejected-calls.ts'
import { inMemory } from './in-memory.ts'
import { openBoth } from './opened.ts'

const rejected = (more: Partial<RejectedCall> = {}): RejectedCall => ({
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

describe('a sample of rejected calls', () => {
  it('has one row for all that are alike, with their number', () => {
    const sample = new RejectedSample()
    for (let nth = 0; nth < 1_000; nth++) sample.add(rejected({ requestId: `req_${nth}` }))
    sample.add(rejected({ askedModel: 'other' }))
    expect(sample.take()).toEqual([
      rejected({ requestId: 'req_0', count: 1_000 }),
      rejected({ askedModel: 'other' }),
    ])
    expect(sample.take()).toEqual([])
  })

  it('is bounded: one key with many models fills no log, many keys neither, and each call is counted', () => {
    const sample = new RejectedSample()
    for (let nth = 0; nth < 1_000; nth++) sample.add(rejected({ askedModel: `m${nth}` }))
    const ofOne = sample.take()
    expect(ofOne.map(({ count }) => count)).toEqual([1, 1, 1, 1, 1, 995])
    expect(ofOne.at(-1)).toMatchObject({ key: 'app', askedModel: undefined })
    for (let nth = 0; nth < 10_000; nth++) sample.add(rejected({ key: `k${nth}` }))
    const ofMany = sample.take()
    expect(ofMany).toHaveLength(101)
    expect(ofMany.at(-1)).toMatchObject({ key: undefined, tenant: undefined, count: 9_900 })
  })
})

it('the log of rejected calls keeps the newest rows, and not more', () => {
  const { raw } = inMemory(() => 0)
  raw.transaction(() => {
    for (let nth = 0; nth < 210; nth++)
      insertRejected(
        raw,
        Array.from({ length: 100 }, () => rejected({ atMs: nth })),
      )
  })()
  expect(raw.prepare('select count(*), min(at_ms), max(at_ms) from rejected_calls').raw().get()).toEqual([
    MAX_REJECTED_ROWS,
    10,
    209,
  ])
})

it('rejected calls are in the store a second later at most, and when the ledger is closed', async () => {
  const { ledger, store } = await openBoth()
  ledger.logRejected(rejected())
  ledger.logRejected(rejected({ requestId: 'req_2' }))
  await ledger.close()
  ledger.logRejected(rejected({ requestId: 'too late' }))
  expect(await store.accounting.rejectedCalls({ key: 'app', minStatus: 400 })).toEqual([
    { id: 1, ...rejected({ count: 2 }) },
  ])
  expect(await store.accounting.rejectedCalls({ key: 'other' })).toEqual([])
  expect(await store.accounting.callLogs()).toEqual([])
})
