import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { WriterSettings } from './messages.ts'

/**
 * The ledger's thread, before it knows its database. It takes a twentieth of a second to come up: whoever starts it
 * first can load everything else meanwhile. Until it is told to begin it keeps no process alive.
 */
export class LedgerThread {
  readonly #worker: Worker
  /** Why it has ended before it was told to begin. */
  #fault: Error | undefined

  /** @param url of its module, compiled, if not beside this one: Node 20 runs no TypeScript. */
  constructor(url: URL = new URL('./worker.js', import.meta.url)) {
    this.#worker = new Worker(url, {
      name: 'ledger',
      // What the process was started with is not meant for the thread: it has a module of its own to run.
      execArgv: [],
    })
    this.#worker.unref()
    this.#worker.once('error', error => {
      this.#fault = error
    })
  }

  /** Resolves when it can take rows. @throws what has ended it instead. */
  async begin(settings: WriterSettings): Promise<Worker> {
    if (this.#fault) throw this.#fault
    this.#worker.ref()
    const ready = once(this.#worker, 'message')
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    this.#worker.postMessage(settings)
    await ready
    return this.#worker
  }

  /** It was not needed after all. */
  async end(): Promise<void> {
    await this.#worker.terminate()
  }
}
