import { once } from 'node:events'
import { parentPort } from 'node:worker_threads'
import type { PostgresSettings } from '../postgres/ledger/messages.ts'
import type { WriterSettings } from './messages.ts'

/** The module of the ledger's thread. An uncaught error ends the thread, and the main thread gets an `error` event. */
if (!parentPort) throw new Error('worker.ts runs in a thread')
// Most stores are SQLite files. Loaded while the main thread loads its own modules, which takes longer.
const sqlite = import('./thread.ts')
const [settings] = (await once(parentPort, 'message')) as [WriterSettings | PostgresSettings]
if ('address' in settings) {
  const { writePostgresLedger } = await import('../postgres/ledger/thread.ts')
  await writePostgresLedger(parentPort, settings)
} else {
  const { writeLedger } = await sqlite
  await writeLedger(parentPort, settings)
}
