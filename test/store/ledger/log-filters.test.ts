import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { CallRecord } from '../../../src/schema/ledger.ts'
import { PAGE_IDS } from '../../../src/store/ledger/log-pages.ts'
import type { Row } from '../../../src/store/ledger/messages.ts'
import type { CallLogQuery, StoredCall } from '../../../src/store/ledger/types.ts'
import { inMemory } from './in-memory.ts'
import { call, NOON_MS } from './rows.ts'

const MINUTE_MS = 60_000
const CALLS = 5 * PAGE_IDS

/** A log of several pages: most calls are alike, some values are in few pages, and the clock jumped back once. */
function log() {
  const { raw, book, questions, accounting } = inMemory(() => NOON_MS)
  const records = Array.from({ length: CALLS }, (_, at): CallRecord => {
    const isRare = at % 7_001 === 0
    return call(`req-${at}`, {
      atMs: NOON_MS + at * MINUTE_MS - (at > 3 * PAGE_IDS ? 1_000 * MINUTE_MS : 0),
      key: `key-${at % 3}`,
      tenant: isRare ? 'beta' : 'acme',
      publication: at < PAGE_IDS ? 'old' : 'new',
      endpoint: isRare ? undefined : 'east',
      node: at % 6_007 === 0 ? 'gpu-2' : at % 2 === 0 ? 'gpu-1' : undefined,
      status: at % 5_003 === 0 ? 500 : 200,
      outcome: at % 5_003 === 0 ? 'failed' : 'answered',
    })
  })
  for (let at = 0; at < CALLS; at += 1_000)
    book.write(records.slice(at, at + 1_000).map((record): Row => ['log', record]))
  const calls = records.map((record, at): StoredCall => ({ id: at + 1, ...record }))
  return { raw, questions, accounting, calls }
}

const fixture = log()

/** The obvious way: each call is compared. */
function expected(query: CallLogQuery): number[] {
  const { after, before, limit = 100, sinceMs, untilMs, minStatus, maxStatus } = query
  const ids = fixture.calls
    .filter(
      one =>
        (after === undefined || one.id > after) &&
        (before === undefined || one.id < before) &&
        (sinceMs === undefined || one.atMs >= sinceMs) &&
        (untilMs === undefined || one.atMs < untilMs) &&
        one.status >= (minStatus ?? 0) &&
        one.status <= (maxStatus ?? 999) &&
        (['key', 'tenant', 'publication', 'endpoint', 'node', 'outcome', 'requestId'] as const).every(
          field => query[field] === undefined || one[field] === query[field],
        ),
    )
    .map(({ id }) => id)
  return (after === undefined ? ids.reverse() : ids).slice(0, limit)
}

const sometimes = <T>(arbitrary: fc.Arbitrary<T>, weight = 1) =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(undefined) }, { weight, arbitrary })
const oneOf = <T>(...values: [T, ...T[]]) => sometimes(fc.constantFrom(...values))
const moment = sometimes(fc.integer({ min: -10, max: CALLS + 10 }))

test('any filters find the calls that a look at each call finds', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        key: oneOf('key-1', 'no-key'),
        tenant: oneOf('acme', 'beta', 'none'),
        publication: oneOf('old', 'new'),
        endpoint: oneOf('east', 'west'),
        node: oneOf('gpu-1', 'gpu-2', 'gpu-3'),
        outcome: oneOf('answered', 'failed'),
        requestId: sometimes(fc.constant('req-7001'), 1),
        minStatus: oneOf(400, 200),
        maxStatus: oneOf(499, 599),
        sinceAt: moment,
        untilAt: moment,
        after: moment,
        before: moment,
        limit: fc.integer({ min: 1, max: 300 }),
      }),
      async ({ sinceAt, untilAt, ...rest }) => {
        const query: CallLogQuery = Object.fromEntries(
          Object.entries({
            ...rest,
            sinceMs: sinceAt === undefined ? undefined : NOON_MS + sinceAt * MINUTE_MS,
            untilMs: untilAt === undefined ? undefined : NOON_MS + untilAt * MINUTE_MS,
          }).filter(([, value]) => value !== undefined),
        )
        const found = await fixture.accounting.callLogs(query)
        expect(found.map(({ id }) => id)).toEqual(expected(query))
      },
    ),
    { numRuns: 1_000 },
  )
})

test('what retention deletes is in no page', async () => {
  const { raw, questions, accounting, calls } = log()
  const pages = () =>
    raw
      .prepare(
        'select (select count(*) from call_log_pages) + (select count(distinct page) from call_log_values)',
      )
      .pluck()
      .get()
  expect(pages()).toBe(12)
  const beforeMs = calls[2 * PAGE_IDS]?.atMs ?? 0
  expect(questions.answer({ query: 'prune', beforeMs, maxRows: CALLS })).toBe(2 * PAGE_IDS)
  expect(pages()).toBe(8)
  expect((await accounting.callLogs({ after: 0, limit: 1 }))[0]?.id).toBe(2 * PAGE_IDS + 1)
  expect(await accounting.callLogs({ publication: 'old' })).toEqual([])
})
