import { existsSync, renameSync, rmSync } from 'node:fs'
import Database from 'better-sqlite3'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { LedgerPort } from '../../../src/gateway/bill.ts'
import { journalFolder } from '../../../src/store/journal/files.ts'
import { JournalReader, type NumberedRow } from '../../../src/store/journal/reader.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { testClock } from '../../support/test-clock.ts'
import { put } from '../samples.ts'
import { openBoth } from './opened.ts'
import { call, hold, NOON_MS, release, settle } from './rows.ts'
import { tenant } from './tenants.ts'
import { verified } from './verified.ts'

/** All rows of a journal, of whose store nothing was folded yet. */
function journalRows(path: string): readonly NumberedRow[] {
  const raw = new Database(path, { readonly: true })
  const id = raw.prepare('select journal_id from journal').pluck().get() as string
  raw.close()
  return new JournalReader(journalFolder(path), id, 1).read(100_000)
}

const range = (count: number) => Array.from({ length: count }, (_, i) => `req_${i}`)

describe('rows', () => {
  test('are in the journal when their promises resolve, and soon after in the store', async () => {
    const { ledger, path } = await openBoth()
    const port: LedgerPort = ledger
    const kinds = () => journalRows(path).map(({ row }) => (row[0] === 'end' ? row[1].kind : row[0]))
    const opened = await port.open(hold('a'))
    expect(kinds()).toEqual(['hold'])
    await port.durable(opened)
    expect(port.durable(opened)).toBeUndefined()
    await port.end(settle('a'))
    expect(kinds()).toEqual(['hold', 'settle'])
    const raw = new Database(path, { readonly: true })
    onTestFinished(() => void raw.close())
    const stored = raw.prepare('select request from ledger order by id').pluck()
    await expect.poll(() => stored.all()).toEqual(['a'])
  })

  test('of one turn of the event loop share one write', async () => {
    const { ledger } = await openBoth()
    let turn = 0
    const turns: number[] = []
    const count = () => {
      turn += 1
      if (turns.length < 500) setImmediate(count)
    }
    count()
    await Promise.all(range(500).map(id => ledger.open(hold(id)).then(() => turns.push(turn))))
    expect(new Set(turns).size).toBe(1)
  })

  test('take effect in the order in which they were made, questions included', async () => {
    const { ledger } = await openBoth()
    const query = [{ key: 'app', sinceMs: NOON_MS }]
    const answers = range(50).map(id => {
      ledger.open(hold(id)).catch(() => undefined)
      ledger.end(settle(id)).catch(() => undefined)
      return ledger.sums(query)
    })
    const totals = (await Promise.all(answers)).map(([sums]) => sums?.totalNano)
    expect(totals).toEqual(range(50).map((_, i) => 400n * BigInt(i + 1)))
  })

  test('that differ from a first end are an alarm; the same end again is not', async () => {
    const { ledger, said, store } = await openBoth()
    await ledger.open(hold('a'))
    await ledger.end(settle('a'))
    await ledger.end(settle('a'))
    await ledger.flush()
    expect(said).toEqual([])
    await ledger.end(settle('a', { amountNano: 1n }))
    await ledger.end(release('a'))
    await ledger.end(settle('never'))
    await ledger.flush()
    expect(said).toEqual([
      expect.stringMatching(
        /^alarm: settle of hold a, attempt 1, key app, .* 1 nano-units: the hold has ended before/,
      ),
      expect.stringMatching(/^alarm: release of hold a, .* the hold has ended before/),
      expect.stringMatching(/^alarm: settle of hold never, .* there never was such a hold/),
    ])
    expect(await store.accounting.verify()).toEqual(verified({ entries: 1 }))
  })

  test('that cannot be written are an alarm and reach their caller', async () => {
    const { ledger, said } = await openBoth()
    await ledger.open(hold('a'))
    await ledger.open(hold('a'))
    await expect(ledger.end(settle('a', { amountNano: 2n ** 64n }))).rejects.toThrow('cannot be written')
    await ledger.flush()
    expect(said).toEqual([
      expect.stringMatching(/^alarm: settle of hold a, .* cannot be written/),
      'alarm: hold a, attempt 1: the same hold was opened before',
    ])
    await ledger.end(settle('a', { amountNano: 2n ** 63n - 1n }))
    expect(await ledger.sums([{ key: 'app', sinceMs: NOON_MS }])).toEqual([
      { key: 'app', totalTokens: 400, totalNano: 2n ** 63n - 1n, windowNano: 2n ** 63n - 1n },
    ])
  })
})

test('the line of a call that cannot be stored is dropped and reported: it ends no gateway', async () => {
  const { ledger, store, said } = await openBoth()
  ledger.log(call('dear', { amountNano: 2n ** 64n }))
  ledger.log(call('next'))
  await ledger.flush()
  expect(ledger.droppedLogs).toBe(1)
  expect(said).toEqual([expect.stringMatching(/^alarm: a line of the call log cannot be written: .*64 bits/)])
  expect((await store.accounting.callLogs()).map(({ requestId }) => requestId)).toEqual(['next'])
})

describe('a queue that is full', () => {
  test('rejects holds and drops call logs, counted, but takes every end', async () => {
    const { ledger, store } = await openBoth({ maxUnfolded: 10 })
    await Promise.all(range(10).map(id => ledger.open(hold(id))))
    await ledger.flush()
    const ends = range(10).map(id => ledger.end(settle(id)))
    expect(ledger.healthy).toBe(false)
    expect(ledger.queued).toBe(10)
    ledger.log(call('late'))
    await expect(ledger.open(hold('late'))).rejects.toMatchObject({ code: 'unavailable' })
    await Promise.all([...ends, ledger.end(release('req_0')).catch(() => undefined)])
    await ledger.flush()
    expect(ledger.healthy).toBe(true)
    ledger.log(call('in-time'))
    await ledger.flush()
    expect((await store.accounting.callLogs()).map(({ requestId }) => requestId)).toEqual(['in-time'])
    expect(ledger.droppedLogs).toBe(1)
    expect(await store.accounting.verify()).toMatchObject({ openHolds: 0, findings: [] })
  })
})

describe('credits of other processes', () => {
  test('are reported since the balances that were read, once, with their signs', async () => {
    const { ledger, store } = await openBoth()
    await put(store, tenant('acme'), tenant('beta'))
    await store.accounting.credit({ tenant: 'acme', amountNano: 10n ** 19n / 2n, reference: 'first' })
    await ledger.open(hold('a'))
    await ledger.end(settle('a'))
    const { version, balanceNano } = await ledger.balances(['acme', 'beta', 'none'])
    expect([...balanceNano]).toEqual([
      ['acme', 10n ** 19n / 2n - 400n],
      ['beta', 0n],
      ['none', 0n],
    ])
    expect(await ledger.adjustments(version)).toEqual({ version, changes: [] })
    await store.accounting.credit({ tenant: 'beta', amountNano: 5n, reference: 'r' })
    await store.accounting.credit({ tenant: 'beta', amountNano: 5n, reference: 'r' })
    await store.accounting.debit({ tenant: 'acme', amountNano: 7n, reference: 'r' })
    const later = await ledger.adjustments(version)
    expect(later.changes).toEqual([
      { tenant: 'beta', amountNano: 5n },
      { tenant: 'acme', amountNano: -7n },
    ])
    expect(await ledger.adjustments(later.version)).toEqual({ version: later.version, changes: [] })
  })
})

describe('holds without an end', () => {
  test('of an earlier process are settled at their input estimate, those of this one are left alone', async () => {
    const { ledger, open, store } = await openBoth()
    await Promise.all(range(2_500).map(id => ledger.open(hold(id))))
    await ledger.end(release('req_7'))
    expect(await ledger.close()).toBe(0)
    const next = await open()
    await next.open(hold('mine', { deadlineMs: Date.now() }))
    expect(await next.recover(NOON_MS)).toBe(2_499)
    expect(await next.recover(NOON_MS)).toBe(0)
    expect(await next.sums([{ key: 'app', sinceMs: NOON_MS }])).toMatchObject([
      { totalTokens: 2_499 * 110, totalNano: 2_499n * 110n },
    ])
    const [entry] = await store.accounting.walletEntries('acme', { limit: 1 })
    expect(entry).toMatchObject({ kind: 'settle', amountNano: -110n, flags: ['interrupted', 'estimated'] })
    expect(await store.accounting.verify()).toMatchObject({ openHolds: 1, findings: [] })
  })

  test('have their line in the call log, marked, where the log was to have one', async () => {
    const { ledger, open, store } = await openBoth()
    await ledger.open(hold('reported', { call: { path: '/v1/messages', stream: true } }))
    await ledger.open(hold('untold'))
    await ledger.close()
    const next = await open()
    expect(await next.recover(NOON_MS)).toBe(2)
    await next.flush()
    expect(await store.accounting.callLogs()).toEqual([
      {
        id: 1,
        requestId: 'reported',
        atMs: NOON_MS,
        key: 'app',
        tenant: 'acme',
        publication: 'gpt',
        endpoint: 'east',
        protocol: 'anthropic',
        path: '/v1/messages',
        status: 0,
        stream: true,
        outcome: 'interrupted',
        usage: expect.objectContaining({ inputTokens: 110, outputTokens: 0 }),
        amountNano: 110n,
        flags: ['interrupted', 'estimated'],
        latencyMs: 0,
        attempts: 1,
      },
    ])
  })

  test('are swept a minute after their deadline, unless they are known', async () => {
    const { ledger, store } = await openBoth()
    await Promise.all(range(1_200).map(id => ledger.open(hold(id))))
    const atMs = NOON_MS + 60_000 + 60_000
    expect(await ledger.sweep(atMs - 1)).toBe(0)
    expect(await ledger.sweep(atMs, id => id === 'req_3')).toBe(1_199)
    const [entry] = await store.accounting.walletEntries('acme', { limit: 1 })
    expect(entry).toMatchObject({ amountNano: -110n, flags: ['swept', 'estimated'] })
    await ledger.end(settle('req_3'))
    expect(await ledger.sweep(atMs)).toBe(0)
  })
})

describe('the end', () => {
  test('commits what waits, rejects what comes later, and leaves no log behind', async () => {
    const { ledger, store, path } = await openBoth()
    const opened = ledger.open(hold('a', { deadlineMs: Date.now() }))
    const closing = ledger.close()
    await opened
    expect(await closing).toBe(0)
    expect(await ledger.close()).toBe(0)
    for (const late of [ledger.open(hold('b')), ledger.end(settle('a')), ledger.flush()]) {
      await expect(late).rejects.toMatchObject({ code: 'unavailable' })
    }
    expect(await store.accounting.verify()).toMatchObject({
      entries: 0,
      archived: 0,
      openHolds: 1,
      findings: [],
    })
    await store.close()
    expect(existsSync(`${path}-wal`)).toBe(false)
  })

  test('of a thread whose file was replaced is reported, and each call that waits is rejected', async () => {
    const { ledger, path, said, hear } = await openBoth()
    await ledger.open(hold('a'))
    renameSync(path, `${path}.old`)
    new Database(path).close()
    renameSync(`${path}.old`, `${path}.older`)
    new Database(path).exec('create table x (id)').close()
    await ledger.end(settle('a'))
    await expect(ledger.flush()).rejects.toMatchObject({ code: 'unavailable' })
    await hear('death')
    expect(said).toEqual([expect.stringContaining('was replaced while it was served')])
    expect(ledger.healthy).toBe(false)
    rmSync(path)
  })
})

test('a thread that does not answer is a problem; a prepaid hold that was rejected meanwhile is released', async () => {
  const clock = testClock()
  const { ledger, path, store, said, hear } = await openBoth({ clock })
  await put(store, tenant('acme'))
  await store.accounting.credit({ tenant: 'acme', amountNano: 1_000n, reference: 'in' })
  const locked = new Database(path)
  onTestFinished(() => void locked.close())
  // SQLite waits inside the thread for a second; the clock of the main thread says that it was ten.
  locked.exec('begin immediate')
  const opened = ledger.open(hold('a', { prepaid: true }))
  await clock.waiting()
  clock.advance(10_000)
  await expect(opened).rejects.toMatchObject({ code: 'unavailable' })
  expect(said).toEqual([expect.stringContaining('has not answered')])
  // Others go on: their rows are in the journal.
  await ledger.open(hold('b', { deadlineMs: Date.now() + 60_000 }))
  locked.exec('commit')
  await hear('recovered')
  await ledger.flush()
  expect(await store.accounting.verify()).toEqual(verified({ entries: 2, openHolds: 1 }))
})

/** Only a database that was made so gives pages back: https://sqlite.org/pragma.html#pragma_auto_vacuum */
function vacuuming(): string {
  const folder = tempDir(onTestFinished)
  const raw = new Database(folder.at('gw.db'))
  raw.pragma('auto_vacuum = incremental')
  raw.exec('vacuum')
  raw.close()
  return folder.path
}

test('pruning deletes the oldest lines of the call log only, and gives their pages back', async () => {
  const { ledger, store, path } = await openBoth({}, vacuuming())
  for (let i = 0; i < 3_000; i++) ledger.log(call(`req_${i}`, { atMs: NOON_MS + i }))
  await ledger.flush()
  const raw = new Database(path, { readonly: true })
  onTestFinished(() => void raw.close())
  const pages = () => raw.pragma('page_count', { simple: true }) as number
  const before = pages()
  expect(await ledger.pruneCallLogs(NOON_MS + 2_990, 1_000)).toBe(1_000)
  expect((await store.accounting.callLogs({ after: 0, limit: 1 }))[0]?.requestId).toBe('req_1000')
  expect(await ledger.pruneCallLogs(NOON_MS + 2_990, 5_000)).toBe(1_990)
  expect(await ledger.pruneCallLogs(NOON_MS + 2_990, 5_000)).toBe(0)
  expect(pages()).toBeLessThan(before)
  const last = (await store.accounting.callLogs({ limit: 1 }))[0]?.id ?? 0
  await ledger.pruneCallLogs(Number.MAX_SAFE_INTEGER, 5_000)
  ledger.log(call('next'))
  await ledger.flush()
  // Who follows the log has seen ids up to `last`: none may come again.
  expect(await store.accounting.callLogs({ after: last })).toMatchObject([
    { id: last + 1, requestId: 'next' },
  ])
})
