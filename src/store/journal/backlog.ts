import { setTimeout as pause } from 'node:timers/promises'
import { openDatabase } from '../database.ts'
import { journalFolder } from './files.ts'
import { JournalDamaged, JournalReader } from './reader.ts'
import { type JournalState, journalStates } from './state.ts'

const LOOK_EVERY_MS = 20
const PAGE_ROWS = 1_000
/** More rows than a gateway lets wait. */
const MAX_PAGES = 250
/** A gateway that runs folds its journal every 100 ms. */
const FOLDED_WITHIN_MS = 2_000

/**
 * Waits until the rows that the journals have now are in the store. Does not use a `Clock`: its timers do not keep the
 * process alive.
 * @returns how many of them are still missing after `withinMs`: no gateway folds them.
 * @throws {CommandError} store_missing {Database.SqliteError}
 */
export async function waitForBacklog(path: string, withinMs = FOLDED_WITHIN_MS): Promise<number> {
  const { raw } = await openDatabase(path, 'read')
  try {
    const lastRows = [...journalStates(raw)].map(
      ([lane, state]) => [lane, lastWritten(journalFolder(path, lane), state)] as const,
    )
    for (let waitedMs = 0; ; waitedMs += LOOK_EVERY_MS) {
      const states = journalStates(raw)
      const left = lastRows
        .map(([lane, row]) => Math.max(0, row - (states.get(lane)?.foldedRow ?? row)))
        .reduce((sum, rows) => sum + rows, 0)
      if (left === 0 || waitedMs >= withinMs) return left
      await pause(LOOK_EVERY_MS)
    }
  } finally {
    raw.close()
  }
}

/** The last row that can be read now. A gateway may write and recycle segments meanwhile: then what was read is enough. */
function lastWritten(folder: string, { journalId, foldedRow }: JournalState): number {
  const reader = new JournalReader(folder, journalId, foldedRow + 1, true)
  try {
    for (let pages = 0; pages < MAX_PAGES && reader.read(PAGE_ROWS).length > 0; pages++);
  } catch (error) {
    const isGone = (error as NodeJS.ErrnoException).code === 'ENOENT'
    if (!isGone && !(error instanceof JournalDamaged)) throw error
  }
  return reader.nextRow - 1
}
