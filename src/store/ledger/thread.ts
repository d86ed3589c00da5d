import type { MessagePort } from 'node:worker_threads'
import { systemClock } from '../../base/clock.ts'
import { fileIdentity, type OpenDatabase, openDatabase } from '../database.ts'
import { JournalDamaged, JournalReader } from '../journal/reader.ts'
import { journalOf } from '../journal/state.ts'
import { foldRows } from './fold.ts'
import { LedgerRows } from './ledger-rows.ts'
import type { Post, Report, WriterSettings } from './messages.ts'
import { LedgerQueries } from './queries.ts'
import { onceUnlocked } from './write-lock.ts'
import { LedgerWriter, StoreReplaced } from './writer.ts'

/**
 * The body of the ledger's thread, until it gets `close`: it folds the journal into the store on its own connection,
 * because a commit waits for the disk, and the main thread must not.
 * @returns that connection, which closes together with the port.
 */
export async function writeLedger(port: MessagePort, settings: WriterSettings): Promise<OpenDatabase> {
  const session = await openDatabase(settings.path, 'write')
  // `onceUnlocked` waits instead, and for a shorter time.
  session.raw.pragma('busy_timeout = 0')
  const report = (message: Report) => port.postMessage(message)
  const { lane } = settings
  const { journalId, foldedRow } = onceUnlocked(() => journalOf(session.raw, lane))
  const rows = new LedgerRows(session.raw, lane)
  const journal = new JournalReader(settings.journalFolder, journalId, foldedRow + 1)
  let alarms: readonly string[]
  try {
    alarms = foldLeftovers(journal, rows, settings.batchRows)
  } catch (error) {
    if (!(error instanceof JournalDamaged)) throw error
    report({ is: 'damaged', message: error.message })
    return session
  }
  const writer = new LedgerWriter(
    {
      rows,
      queries: new LedgerQueries(session.raw, lane),
      // The segments of this process follow those of earlier ones, which are in the store now.
      journal: new JournalReader(settings.journalFolder, journalId, journal.nextRow),
      clock: systemClock,
      soon: setImmediate,
      report,
      assertFile() {
        const file = fileIdentity(settings.path)
        if (file === undefined) throw new Error(`${settings.path} no longer exists`)
        if (file !== session.file)
          throw new StoreReplaced(`${settings.path} was replaced while it was served`)
      },
    },
    settings,
  )
  port.on('message', (message: Post | 'close') => {
    if (message !== 'close') {
      writer.receive(message)
      return
    }
    session.raw.close()
    port.close()
  })
  report({ is: 'ready', journalId, nextRow: journal.nextRow, alarms })
  return session
}

/**
 * Folds what earlier processes left in the journal.
 * @returns rows that were left out.
 * @throws {JournalDamaged} {Database.SqliteError}
 */
function foldLeftovers(journal: JournalReader, rows: LedgerRows, batchRows: number): readonly string[] {
  const alarms: string[] = []
  for (;;) {
    const foldedRow = journal.nextRow - 1
    const batch = journal.read(batchRows)
    if (batch.length === 0) return alarms
    alarms.push(...foldRows(batch, rows, foldedRow))
  }
}
