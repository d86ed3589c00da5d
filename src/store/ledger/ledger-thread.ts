import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { WriterSettings } from './messages.ts'

/**
 * The ledger's thread, before it knows its database. It takes a twentieth of a second to come up: whoever starts it
 * first can load everything else meanwhile. Until it is told to begin it keeps no process alive.
 */
export class LedgerThread {
  readonly #worker: Worker
  /** Resolves with why it is no more. */
  readonly #ended: Promise<Error>

  /** @param url of its module, compiled, if not beside this one: tests run that of the build. */
  constructor(url: URL = new URL('./worker.js', import.meta.url)) {
    const worker = new Worker(url, {
      name: 'ledger',
      // What the process was started with is not meant for the thread: it has a module of its own to run.
      execArgv: [],
    })
    worker.unref()
    this.#worker = worker
    this.#ended = new Promise(resolve => {
      worker.once('error', resolve)
      worker.once('exit', code => resolve(new Error(`the ledger's thread has ended with code ${code}`)))
    })
  }

  /** Resolves when it can take rows. @throws what has ended it instead. */
  async begin(settings: WriterSettings): Promise<Worker> {
    this.#worker.ref()
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    this.#worker.postMessage(settings)
    const fault = await Promise.race([this.#ended, once(this.#worker, 'message').then(() => undefined)])
    if (fault) throw fault
    return this.#worker
  }

  /** It was not needed after all. */
  async end(): Promise<void> {
    await this.#worker.terminate()
  }
}
