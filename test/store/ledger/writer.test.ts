import type Database from 'better-sqlite3'
import { describe, expect, test } from 'vitest'
import type { NumberedRow } from '../../../src/store/journal/reader.ts'
import type { LedgerQuery, Report, Row } from '../../../src/store/ledger/messages.ts'
import { LedgerWriter, StoreReplaced } from '../../../src/store/ledger/writer.ts'
import { testClock } from '../../support/test-clock.ts'
import { inMemory } from './in-memory.ts'
import { call, hold, settle } from './rows.ts'

/** A journal of which all rows can be read. */
class MemoryJournal {
  readonly #rows: Row[] = []
  nextRow = 1
  takeFinished(): readonly number[] {
    return []
  }

  get lastRow(): number {
    return this.#rows.length
  }

  append(row: Row): void {
    this.#rows.push(row)
  }

  read(limit: number, upTo: number): readonly NumberedRow[] {
    const first = this.nextRow
    const rows = this.#rows.slice(first - 1, Math.min(upTo, first - 1 + limit))
    this.nextRow += rows.length
    return rows.map((row, index) => ({ number: first + index, row }))
  }
}

function setUp(batchRows = 1_000) {
  const clock = testClock()
  const { raw, book, questions, accounting } = inMemory(() => clock.nowMs())
  const reports: Report[] = []
  const tasks: (() => void)[] = []
  let assertFile = (): void => undefined
  const journal = new MemoryJournal()
  const writer = new LedgerWriter(
    {
      rows: book,
      queries: questions,
      journal,
      clock,
      soon: task => tasks.push(task),
      report: report => reports.push(report),
      assertFile: () => assertFile(),
    },
    { openTimeoutMs: 2_000, batchRows },
  )
  let seq = 0
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
    /** Rows of the journal, and questions between them. */
    post: (...items: (Row | readonly [what: 'query', query: LedgerQuery])[]) => {
      for (const item of items) {
        if (item[0] === 'query')
          writer.receive({
            writtenRow: journal.lastRow,
            questions: [{ seq: ++seq, afterRow: journal.lastRow, query: item[1] }],
          })
        else journal.append(item)
      }
      writer.receive({ writtenRow: journal.lastRow, questions: [] })
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

const holds = (count: number): Row[] =>
  Array.from({ length: count }, (_, i) => ['hold', hold(`req_${i}_${'x'.repeat(100)}`)])
const folded = (row: number, alarms: readonly string[] = []) => ({ is: 'folded', row, alarms, finished: [] })
const prepaid = (id: string) =>
  ['query', { query: 'hold', hold: hold(id, { prepaid: true, amountNano: 10n }) }] as const

describe('batches', () => {
  test('all that is written shares one commit', () => {
    const { post, run } = setUp()
    post(['hold', hold('a')], ['hold', hold('b')])
    post(['end', settle('a')], ['log', call('a')])
    expect(run()).toEqual([folded(4)])
  })

  test('a commit takes no more rows than it may, so that questions do not wait for all of them', () => {
    const { post, run } = setUp(2)
    post(['hold', hold('a')], ['hold', hold('b')], ['hold', hold('c')])
    expect(run()).toEqual([folded(2), folded(3)])
  })

  test('the number of the last row is committed with the rows', () => {
    const { raw, post, run } = setUp()
    post(['hold', hold('a')], ['end', settle('a')])
    run()
    expect(raw.prepare('select folded_row from journal').pluck().get()).toBe(2)
  })

  test('a question is answered when the rows before it are in the store, and before those after it', () => {
    const { post, run } = setUp()
    const sums = ['query', { query: 'sums', queries: [{ key: 'app', sinceMs: 0 }] }] as const
    post(['hold', hold('a')], ['hold', hold('b')], ['end', settle('a')])
    run()
    post(sums, ['end', settle('b')], sums)
    const answers = run().filter(report => report.is === 'answered')
    expect(answers).toMatchObject([{ answer: [{ totalNano: 400n }] }, { answer: [{ totalNano: 800n }] }])
  })

  test('a question waits for a row that is not written yet', () => {
    const { writer, post, run } = setUp()
    post(['hold', hold('a')])
    run()
    writer.receive({ writtenRow: 1, questions: [{ seq: 1, afterRow: 2, query: { query: 'nothing' } }] })
    expect(run()).toEqual([])
    post(['end', settle('a')])
    expect(run()).toEqual([folded(2), { is: 'answered', seq: 1 }])
  })

  test('a row that contradicts the ledger is an alarm, and holds up no other', () => {
    const { post, run } = setUp()
    post(['hold', hold('a')], ['hold', hold('a')], ['end', settle('a')], ['end', settle('a')])
    post(['end', settle('a', { amountNano: 1n })], ['end', settle('never')])
    expect(run()).toEqual([
      folded(6, [
        'hold a, attempt 1: the same hold was opened before',
        expect.stringMatching(/^settle of hold a, .* 1 nano-units: the hold has ended before/),
        expect.stringMatching(/^settle of hold never, .* there never was such a hold$/),
      ]),
    ])
  })

  test.each([
    ['an amount beyond 64 bits', settle('a', { amountNano: 2n ** 63n })],
    ['a negative amount', settle('a', { amountNano: -1n })],
    ['a fraction of a token', settle('a', { usage: { ...settle('a').usage, inputTokens: 0.5 } })],
    ['tokens without sense', settle('a', { usage: { ...settle('a').usage, outputTokens: 1e15 } })],
    ['no number', settle('a', { endedAtMs: Number.NaN })],
  ])('%s is left out alone, with an alarm, and its hold stays open', async (_, end) => {
    const { post, run, accounting } = setUp()
    post(['hold', hold('a')], ['end', end], ['hold', hold('b')])
    expect(run()).toEqual([folded(3, [expect.stringMatching(/^settle of hold a, .* cannot be written: /)])])
    expect(await accounting.verify()).toMatchObject({ openHolds: 2, findings: [] })
  })
})

describe('a prepaid hold', () => {
  test('is written when the rows before it are, in one commit with others, or is short', async () => {
    const { post, run, accounting } = setUp()
    await accounting.credit({ tenant: 'acme', amountNano: 25n, reference: 'in' })
    post(prepaid('a'), prepaid('b'), prepaid('c'))
    expect(run()).toEqual([
      { is: 'answered', seq: 1, answer: undefined },
      { is: 'answered', seq: 2, answer: undefined },
      { is: 'answered', seq: 3, answer: { balanceNano: 25n, heldNano: 20n } },
    ])
    post(['end', settle('a', { amountNano: 1n })], prepaid('d'))
    expect(run()).toEqual([folded(1), { is: 'answered', seq: 4, answer: undefined }])
  })

  test('waits two seconds for a disk that is full, and is not written afterwards', async () => {
    const { raw, post, run, wait, accounting } = setUp()
    await accounting.credit({ tenant: 'acme', amountNano: 25n, reference: 'in' })
    raw.pragma('query_only = on')
    post(prepaid('a'))
    expect(run()).toEqual([{ is: 'problem', message: expect.stringContaining('SQLITE_READONLY') }])
    expect(wait(3_000)).toEqual([{ is: 'expired', seqs: [1] }])
    expect(wait(10_000)).toEqual([])
    raw.pragma('query_only = off')
    expect(wait(1_000)).toEqual([{ is: 'recovered' }])
    expect(await accounting.verify()).toMatchObject({ openHolds: 0, findings: [] })
  })
})

describe('a disk that is full', () => {
  test('loses nothing, is reported once, and is over by itself when there is room again', async () => {
    const { raw, post, run, wait, accounting } = setUp()
    post(['hold', hold('a')])
    run()
    fill(raw)
    post(...holds(200), ['end', settle('a')])
    expect(run()).toEqual([{ is: 'problem', message: expect.stringContaining('SQLITE_FULL') }])
    expect(wait(500)).toEqual([])
    makeRoom(raw)
    expect(wait(1_000)).toEqual([folded(202), { is: 'recovered' }])
    expect(await accounting.verify()).toMatchObject({ entries: 1, archived: 0, openHolds: 200, findings: [] })
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
    post(prepaid('a'), ['query', { query: 'balances', tenants: ['acme'] }])
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
    expect(wait(100)).toEqual([folded(1), { is: 'recovered' }])
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
