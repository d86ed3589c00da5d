import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { WriterSettings } from './messages.ts'

/**
 * The ledger's thread, before it knows its database. It takes 50 ms to start: start it first, and load everything else
 * meanwhile. Until `begin` it keeps no process alive.
 */
export class LedgerThread {
  readonly #worker: Worker
  /** Resolves with the reason of its end. */
  readonly #ended: Promise<Error>

  /** @param url of its compiled module, if not beside this one: tests run that of the build. */
  constructor(url: URL = new URL('./worker.js', import.meta.url)) {
    const worker = new Worker(url, {
      name: 'ledger',
      // The options of the process do not apply to the thread, which runs its own module.
      execArgv: [],
    })
    worker.unref()
    this.#worker = worker
    this.#ended = new Promise(resolve => {
      worker.once('error', resolve)
      worker.once('exit', code => resolve(new Error(`the ledger's thread has ended with code ${code}`)))
    })
  }

  /** Resolves when the thread can take rows. @throws the reason, if it ends instead. */
  async begin(settings: WriterSettings): Promise<Worker> {
    this.#worker.ref()
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    this.#worker.postMessage(settings)
    const fault = await Promise.race([this.#ended, once(this.#worker, 'message').then(() => undefined)])
    if (fault) throw fault
    return this.#worker
  }

  /** Ends a thread that is not needed. */
  async end(): Promise<void> {
    await this.#worker.terminate()
  }
}
