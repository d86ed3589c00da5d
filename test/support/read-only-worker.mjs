import { once } from 'node:events'
import { BroadcastChannel, parentPort } from 'node:worker_threads'
import { writeLedger } from '../../dist/store/ledger/thread.js'

/**
 * The ledger's thread, whose connection a test can make read-only while it runs: SQLite itself then answers each
 * write with SQLITE_READONLY, as it does where a file system was remounted.
 */
const [settings] = await once(parentPort, 'message')
const { raw } = await writeLedger(parentPort, settings)
const channel = new BroadcastChannel(`read-only ${settings.path}`)
channel.unref()
channel.addEventListener('message', ({ data: isReadOnly }) => {
  raw.pragma(`query_only = ${isReadOnly ? 'on' : 'off'}`)
  channel.postMessage('done')
})
