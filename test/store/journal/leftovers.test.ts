import { readFileSync, writeFileSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { JournalFolder, journalFolder, listSegments, segmentPath } from '../../../src/store/journal/files.ts'
import { Journal } from '../../../src/store/journal/journal.ts'
import { LedgerThread } from '../../../src/store/ledger/ledger-thread.ts'
import { openLedger } from '../../../src/store/ledger/open-ledger.ts'
import type { Ledger } from '../../../src/store/ledger/types.ts'
import { openStore } from '../../../src/store/open.ts'
import { gw } from '../../cli/in-process.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { WORKER_URL } from '../ledger/opened.ts'
import { call, hold, settle } from '../ledger/rows.ts'
import { verified } from '../ledger/verified.ts'

/** A store whose last gateway was killed: ten charged calls are in the journal alone. */
async function killed(journalId?: string) {
  const folder = tempDir(onTestFinished)
  const path = folder.at('gw.db')
  const store = await openStore(`sqlite:${path}`, { mode: 'create', clock: systemClock })
  onTestFinished(() => store.close())
  const raw = new Database(path, { readonly: true })
  const own = raw.prepare('select journal_id from journal').pluck().get() as string
  raw.close()
  const journal = await Journal.open({
    files: new JournalFolder(journalFolder(path)),
    clock: systemClock,
    atTurnEnd: task => void setImmediate(task),
    journalId: journalId ?? own,
    firstRow: 1,
    onProblem: error => expect.fail(error.message),
    onRecovered: () => undefined,
  })
  for (let index = 0; index < 10; index++) {
    journal.append(['hold', hold(`req_${index}`)])
    journal.append(['log', call(`req_${index}`)])
    await journal.acknowledged(journal.append(['end', settle(`req_${index}`)]))
  }
  expect(await journal.close(1_000, false)).toBe(0)
  const alarms: string[] = []
  return {
    folder,
    path,
    store,
    alarms,
    start: async (): Promise<Ledger> => {
      const ledger = await openLedger(`sqlite:${path}`, {
        clock: systemClock,
        events: {
          onProblem: message => void alarms.push(message),
          onRecovered: () => undefined,
          onAlarm: message => void alarms.push(message),
          onDeath: error => void alarms.push(error.message),
        },
        thread: new LedgerThread(WORKER_URL),
      })
      onTestFinished(() => ledger.close(1_000).then(() => undefined))
      return ledger
    },
    change: (edit: (segment: Buffer) => void) => {
      const [number = 1] = listSegments(journalFolder(path))
      const file = segmentPath(journalFolder(path), number)
      const bytes = readFileSync(file)
      edit(bytes)
      writeFileSync(file, bytes)
    },
  }
}

test('what a killed gateway left in its journal is in the store after the next start, once', async () => {
  const { store, start, alarms, path } = await killed()
  const ledger = await start()
  expect(await store.accounting.verify()).toEqual(verified({ entries: 10 }))
  expect(await store.accounting.callLogs()).toHaveLength(10)
  await ledger.open(hold('later'))
  await ledger.end(settle('later'))
  expect(await ledger.close()).toBe(0)
  // After an orderly end the database alone is the store.
  expect(listSegments(journalFolder(path))).toEqual([])
  await start()
  expect(await store.accounting.verify()).toEqual(verified({ entries: 11 }))
  expect(alarms).toEqual([])
})

test('a segment that a start could not remove is not folded again', async () => {
  const { store, start, path } = await killed()
  const [number = 1] = listSegments(journalFolder(path))
  const file = segmentPath(journalFolder(path), number)
  const segment = readFileSync(file)
  await (await start()).close()
  writeFileSync(file, segment)
  await start()
  expect(await store.accounting.verify()).toEqual(verified({ entries: 10 }))
})

test('a gateway does not start on a damaged journal, and says which rows are missing and where', async () => {
  const { start, change, store } = await killed()
  change(bytes => {
    bytes[400] = (bytes[400] ?? 0) ^ 1
  })
  await expect(start()).rejects.toMatchObject({
    code: 'journal_damaged',
    message: expect.stringMatching(
      /the rows \d+ to \d+ of the journal are missing or damaged .*segment, byte \d+/,
    ),
  })
  // Nothing was lost by the attempt: what precedes the damage is in the store, and the journal is as it was.
  expect(await store.accounting.verify()).toMatchObject({ findings: [] })
  await expect(start()).rejects.toMatchObject({ code: 'journal_damaged' })
})

test('a gateway does not start on the journal of a newer gw, or of another store', async () => {
  const newer = await killed()
  newer.change(bytes => {
    bytes.writeUInt32LE(99, 8)
    bytes.writeUInt32LE(crc32(bytes.subarray(0, 60)), 60)
  })
  await expect(newer.start()).rejects.toMatchObject({
    code: 'journal_damaged',
    message: expect.stringContaining('was written by a newer gw'),
  })
  const foreign = await killed('ff'.repeat(16))
  await expect(foreign.start()).rejects.toMatchObject({
    code: 'journal_damaged',
    message: expect.stringContaining('belongs to another store'),
  })
})

test('`gw ledger verify` says how many rows it could not check, until a gateway has written them', async () => {
  const { folder, path, start } = await killed()
  const verify = () =>
    gw(['ledger', 'verify', '--store', `sqlite:${path}`, '--format', 'json'], { cwd: folder.path })
  const before = await verify()
  expect(before).toMatchObject({
    exit: 0,
    stderr: expect.stringContaining('30 rows of the ledger were not checked'),
  })
  expect(JSON.parse(before.stdout)).toMatchObject({ fits: true, entries: 0, unfolded_rows: 30 })
  await (await start()).flush()
  const after = await verify()
  expect(after).toMatchObject({ exit: 0, stderr: '' })
  expect(JSON.parse(after.stdout)).toMatchObject({ entries: 10, unfolded_rows: 0 })
})
