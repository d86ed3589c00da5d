import { once } from 'node:events'
import { parentPort } from 'node:worker_threads'
import type { WriterSettings } from './messages.ts'
import { writeLedger } from './thread.ts'

/** The module of the ledger's thread. An uncaught error ends the thread, and the main thread gets an `error` event. */
if (!parentPort) throw new Error('worker.ts runs in a thread')
const [settings] = (await once(parentPort, 'message')) as [WriterSettings]
await writeLedger(parentPort, settings)
