import type { MessagePort } from 'node:worker_threads'
import { systemClock } from '../../base/clock.ts'
import { fileIdentity, type OpenDatabase, openDatabase } from '../database.ts'
import { LedgerRows } from './ledger-rows.ts'
import type { Report, WriterSettings } from './messages.ts'
import { LedgerQueries } from './queries.ts'
import { type PackedPost, unpacked } from './wire-format.ts'
import { LedgerWriter, StoreReplaced } from './writer.ts'

/**
 * The body of the ledger's thread, until it gets `close`: it writes on its own connection, because a commit waits for
 * the disk, and the main thread must not.
 * @returns that connection, which closes together with the port.
 */
export async function writeLedger(port: MessagePort, settings: WriterSettings): Promise<OpenDatabase> {
  const session = await openDatabase(settings.path, 'write')
  // `onceUnlocked` waits instead, and for a shorter time.
  session.raw.pragma('busy_timeout = 0')
  const writer = new LedgerWriter(
    {
      rows: new LedgerRows(session.raw),
      queries: new LedgerQueries(session.raw),
      clock: systemClock,
      soon: setImmediate,
      report: (report: Report) => port.postMessage(report),
      assertFile() {
        const file = fileIdentity(settings.path)
        if (file === undefined) throw new Error(`${settings.path} no longer exists`)
        if (file !== session.file)
          throw new StoreReplaced(`${settings.path} was replaced while it was served`)
      },
    },
    settings,
  )
  port.on('message', (message: PackedPost | 'close') => {
    if (message !== 'close') {
      writer.receive({ first: message.first, items: message.items.map(unpacked) })
      return
    }
    session.raw.close()
    port.close()
  })
  port.postMessage({ is: 'ready' } satisfies Report)
  return session
}
