import { setTimeout as pause } from 'node:timers/promises'
import type Database from 'better-sqlite3'
import { openDatabase } from '../database.ts'
import { SELECT_JOURNAL } from '../ledger/statements.ts'
import { journalFolder } from './files.ts'
import { JournalDamaged, JournalReader } from './reader.ts'

const LOOK_EVERY_MS = 20
const PAGE_ROWS = 1_000
/** More rows than a gateway lets wait. */
const MAX_PAGES = 250

/**
 * Waits until the rows that the journal has now are in the store. Does not use a `Clock`: its timers do not keep the
 * process alive.
 * @returns how many of them are still missing after `withinMs`: no gateway folds them.
 * @throws {CommandError} store_missing {Database.SqliteError}
 */
export async function waitForBacklog(path: string, withinMs: number): Promise<number> {
  const { raw } = await openDatabase(path, 'read')
  try {
    const state = foldedState(raw)
    const first = state()
    if (!first) return 0
    const lastRow = lastWritten(journalFolder(path), first)
    for (let waitedMs = 0; ; waitedMs += LOOK_EVERY_MS) {
      const left = lastRow - (state()?.foldedRow ?? lastRow)
      if (left <= 0 || waitedMs >= withinMs) return Math.max(0, left)
      await pause(LOOK_EVERY_MS)
    }
  } finally {
    raw.close()
  }
}

/** The last row that can be read now. A gateway may write and recycle segments meanwhile: then what was read is enough. */
function lastWritten(folder: string, { journalId, foldedRow }: FoldedState): number {
  const reader = new JournalReader(folder, journalId, foldedRow + 1, true)
  try {
    for (let pages = 0; pages < MAX_PAGES && reader.read(PAGE_ROWS).length > 0; pages++);
  } catch (error) {
    const isGone = (error as NodeJS.ErrnoException).code === 'ENOENT'
    if (!isGone && !(error instanceof JournalDamaged)) throw error
  }
  return reader.nextRow - 1
}

interface FoldedState {
  readonly journalId: string
  readonly foldedRow: number
}

/** Undefined in a store from before there were journals. */
function foldedState(raw: Database.Database): () => FoldedState | undefined {
  const exists = raw.prepare(`select 1 from sqlite_schema where type = 'table' and name = 'journal'`).get()
  if (exists === undefined) return () => undefined
  const select = raw.prepare<[], FoldedState>(SELECT_JOURNAL)
  return () => select.get()
}
