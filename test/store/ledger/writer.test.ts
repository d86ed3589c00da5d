import type Database from 'better-sqlite3'
import { describe, expect, test } from 'vitest'
import type { Item, Report } from '../../../src/store/ledger/messages.ts'
import { LedgerWriter, StoreReplaced } from '../../../src/store/ledger/writer.ts'
import { testClock } from '../../support/test-clock.ts'
import { inMemory } from './in-memory.ts'
import { call, hold, settle } from './rows.ts'

function setUp(batchRows = 1_000) {
  const clock = testClock()
  const { raw, book, questions, accounting } = inMemory(() => clock.nowMs())
  const reports: Report[] = []
  const tasks: (() => void)[] = []
  let assertFile = (): void => undefined
  const writer = new LedgerWriter(
    {
      rows: book,
      queries: questions,
      clock,
      soon: task => tasks.push(task),
      report: report => reports.push(report),
      assertFile: () => assertFile(),
    },
    { openTimeoutMs: 2_000, batchRows },
  )
  let next = 1
  /** Lets everything that was scheduled run; what was reported meanwhile. */
  function run(): Report[] {
    for (let task = tasks.shift(); task; task = tasks.shift()) task()
    return reports.splice(0)
  }
  return {
    raw,
    clock,
    writer,
    accounting,
    post: (...items: Item[]) => {
      writer.receive({ first: next, items })
      next += items.length
    },
    run,
    wait: (ms: number): Report[] => {
      clock.advance(ms)
      return run()
    },
    onFile: (check: () => void) => {
      assertFile = check
    },
  }
}

/** No room for another page: https://sqlite.org/pragma.html#pragma_max_page_count */
function fill(raw: Database.Database): void {
  raw.exec('create table ballast (bytes blob)')
  raw.pragma(`max_page_count = ${String(raw.pragma('page_count', { simple: true }))}`)
}

function makeRoom(raw: Database.Database): void {
  raw.pragma('max_page_count = 100000')
}

const holds = (count: number): Item[] =>
  Array.from({ length: count }, (_, i) => ['hold', hold(`req_${i}_${'x'.repeat(100)}`)])
const committed = (upTo: number) => ({ is: 'committed', upTo, faults: [] })

describe('batches', () => {
  test('all that waits shares one commit', () => {
    const { post, run } = setUp()
    post(['hold', hold('a')], ['hold', hold('b')])
    post(['end', settle('a')], ['log', call('a')])
    expect(run()).toEqual([committed(4)])
  })

  test('a commit takes no more rows than it may, so that the first are not kept waiting by the last', () => {
    const { post, run } = setUp(2)
    post(['hold', hold('a')], ['hold', hold('b')], ['hold', hold('c')])
    expect(run()).toEqual([committed(2), committed(3)])
  })

  test('a question is answered between the rows before and those after it', () => {
    const { post, run } = setUp()
    const sums: Item = ['query', { query: 'sums', queries: [{ key: 'app', sinceMs: 0 }] }]
    post(['hold', hold('a')], ['hold', hold('b')], ['end', settle('a')], sums, ['end', settle('b')], sums)
    const answers = run().filter(report => report.is === 'answered')
    expect(answers).toMatchObject([{ answer: [{ totalNano: 400n }] }, { answer: [{ totalNano: 800n }] }])
  })

  test('a row that contradicts the ledger is reported, and holds up no other', () => {
    const { post, run } = setUp()
    post(['hold', hold('a')], ['hold', hold('a')], ['end', settle('a')], ['end', settle('a')])
    post(['end', settle('a', { amountNano: 1n })], ['end', settle('never')])
    expect(run()).toEqual([
      {
        is: 'committed',
        upTo: 6,
        faults: [
          { seq: 2, fault: 'held_twice' },
          { seq: 5, fault: 'ended_differently' },
          { seq: 6, fault: 'never_held' },
        ],
      },
    ])
  })

  test.each([
    ['an amount beyond 64 bits', settle('a', { amountNano: 2n ** 63n })],
    ['a negative amount', settle('a', { amountNano: -1n })],
    ['a fraction of a token', settle('a', { usage: { ...settle('a').usage, inputTokens: 0.5 } })],
    ['tokens without sense', settle('a', { usage: { ...settle('a').usage, outputTokens: 1e15 } })],
    ['no number', settle('a', { endedAtMs: Number.NaN })],
  ])('%s is rejected alone, and its hold stays open', async (_, end) => {
    const { post, run, accounting } = setUp()
    post(['hold', hold('a')], ['end', end], ['hold', hold('b')])
    expect(run()).toEqual([{ is: 'rejected', seq: 2, message: expect.any(String) }, committed(3)])
    expect(await accounting.verify()).toMatchObject({ openHolds: 2, findings: [] })
  })
})

describe('a disk that is full', () => {
  test('loses nothing, is told once, and is over by itself when there is room again', async () => {
    const { raw, post, run, wait, accounting } = setUp()
    post(['hold', hold('a')])
    run()
    fill(raw)
    post(...holds(200), ['end', settle('a')])
    expect(run()).toEqual([{ is: 'problem', message: expect.stringContaining('SQLITE_FULL') }])
    expect(wait(500)).toEqual([])
    makeRoom(raw)
    expect(wait(1_000)).toEqual([committed(202), { is: 'recovered' }])
    expect(await accounting.verify()).toMatchObject({ entries: 202, openHolds: 200, findings: [] })
  })

  test('rejects holds after two seconds and never writes them; ends wait on', async () => {
    const { raw, post, run, wait, accounting } = setUp()
    post(['hold', hold('a')])
    run()
    fill(raw)
    post(...holds(200), ['end', settle('a')])
    run()
    const late = wait(3_000)
    expect(late).toHaveLength(1)
    expect(late[0]).toMatchObject({ is: 'expired' })
    expect(late[0]?.is === 'expired' && late[0].seqs).toHaveLength(200)
    makeRoom(raw)
    expect(wait(1_000)).toEqual([committed(202), { is: 'recovered' }])
    expect(await accounting.verify()).toMatchObject({ entries: 2, openHolds: 0, findings: [] })
  })

  test('is found to be over although nothing waits to be written', () => {
    const { raw, post, run, wait } = setUp()
    raw.pragma('query_only = on')
    post(['hold', hold('a')])
    expect(run()).toEqual([{ is: 'problem', message: expect.stringContaining('SQLITE_READONLY') }])
    expect(wait(3_000)).toEqual([{ is: 'expired', seqs: [1] }])
    expect(wait(10_000)).toEqual([])
    raw.pragma('query_only = off')
    expect(wait(1_000)).toEqual([{ is: 'recovered' }])
    post(['hold', hold('b')])
    expect(run()).toEqual([committed(2)])
  })

  test('is tried again in pauses that grow to a second, not in a loop', () => {
    const { post, run, wait, onFile } = setUp()
    let attempts = 0
    onFile(() => {
      attempts += 1
      throw new Error('full')
    })
    post(['end', settle('a')])
    run()
    wait(1_270)
    expect(attempts).toBe(8)
    wait(10_000)
    expect(attempts).toBe(18)
    post(['end', settle('b')])
    run()
    expect(attempts).toBe(18)
  })

  test('still answers what can be read', () => {
    const { raw, post, run, wait } = setUp()
    raw.pragma('query_only = on')
    post(['hold', hold('a')], ['query', { query: 'balances', tenants: ['acme'] }])
    expect(run().map(({ is }) => is)).toEqual(['problem'])
    expect(wait(4_000)).toEqual([
      { is: 'expired', seqs: [1] },
      { is: 'answered', seq: 2, answer: { version: 0, balanceNano: [0n] } },
    ])
  })
})

describe('the file', () => {
  test('that has gone is waited for', () => {
    const { post, run, wait, onFile } = setUp()
    onFile(() => {
      throw new Error('gw.db no longer exists')
    })
    post(['hold', hold('a')])
    expect(run()).toEqual([{ is: 'problem', message: 'gw.db no longer exists' }])
    onFile(() => undefined)
    expect(wait(100)).toEqual([committed(1), { is: 'recovered' }])
  })

  test('that was replaced ends the writer before it commits into the old one', () => {
    const { raw, post, run, onFile } = setUp()
    onFile(() => {
      throw new StoreReplaced('gw.db was replaced')
    })
    post(['hold', hold('a')])
    expect(run).toThrow(StoreReplaced)
    expect(raw.prepare('select count(*) from ledger').pluck().get()).toBe(0)
  })
})
