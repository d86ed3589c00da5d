import { expect, test } from 'vitest'
import { usageOf } from '../../../src/schema/ledger.ts'
import type { Item } from '../../../src/store/ledger/messages.ts'
import { packed, unpacked } from '../../../src/store/ledger/wire-format.ts'
import { call, hold, release, settle } from './rows.ts'

/** Without what says that something is absent: lists have a place for everything. */
const said = (item: Item): unknown =>
  JSON.parse(JSON.stringify(item, (_, value) => (typeof value === 'bigint' ? `${value}n` : value)))

test.each<[string, Item]>([
  ['a hold', ['hold', hold('a')]],
  [
    'a prepaid hold with its call',
    ['hold', hold('a', { prepaid: true, call: { path: '/v1/messages', stream: false } })],
  ],
  ['a bill', ['end', settle('a', { flags: ['estimated', 'unpriced'], amountNano: 2n ** 62n })]],
  [
    'a bill with the ids of its answer',
    [
      'end',
      settle('a', {
        flags: ['estimated'],
        stored: { ids: ['resp_1', 'msg_1'], tokens: 400, outputTokens: 300, expiresAtMs: 1_800_000_000_000 },
      }),
    ],
  ],
  [
    'a bill of audio, characters and images',
    ['end', settle('a', { usage: usageOf({ searchUnits: 1, durationMs: 2, characters: 3, images: 4 }) })],
  ],
  [
    'a hold of audio, characters and images',
    ['hold', hold('a', { price: '{}', inputUnits: { durationMs: 2, characters: 3, images: 4 } })],
  ],
  [
    'a line of audio, characters and images',
    ['log', call('a', { usage: usageOf({ searchUnits: 1, durationMs: 2, characters: 3, images: 4 }) })],
  ],
  ['a release', ['end', release('a')]],
  ['a line of the call log', ['log', call('a', { flags: ['partial'] })]],
  [
    'a line of a call that failed',
    [
      'log',
      {
        ...call('a', { errorCode: 'upstream_error', status: 502 }),
        usage: undefined,
        endpoint: undefined,
        firstByteMs: undefined,
        reason: 'fast answered 500',
        failedAttempts: ['fast: upstream_error (answered 500)'],
      },
    ],
  ],
  ['a question', ['query', { query: 'balances', tenants: ['acme', 'beta'] }]],
])('%s comes out on the other side as it went in', (_, item) => {
  const { tenant: _tenant, ...platform } = item[0] === 'hold' ? item[1] : hold('b')
  for (const each of [item, ['hold', platform] satisfies Item])
    expect(said(unpacked(structuredClone(packed(each))))).toEqual(said(each))
})
