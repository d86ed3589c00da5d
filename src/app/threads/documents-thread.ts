import { parentPort } from 'node:worker_threads'
import { type Document, understand } from './documents.ts'

/** The thread that understands configurations which come over the network, one after another. */
const port = parentPort
if (!port) throw new Error('documents-thread.ts runs in a thread')

let working: Promise<void> = Promise.resolve()
port.on('message', (document: Document) => {
  working = working.then(async () => port.postMessage(await understand(document)))
})
