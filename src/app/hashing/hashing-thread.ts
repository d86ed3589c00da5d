import { Worker } from 'node:worker_threads'
import type { Clock, Timer } from '../../base/clock.ts'
import type { Derivation } from '../../base/password.ts'
import type { Derived } from './derived.ts'

/** Log-ins come in groups; afterwards the thread's memory is worth more than the start of another one. */
const IDLE_MS = 60_000
const MODULE = new URL('./thread.js', import.meta.url)

/** One life of the thread, and who waits for its answers, in their order. */
interface Running {
  readonly worker: Worker
  readonly waiting: { readonly resolve: (hash: Buffer) => void; readonly reject: (error: Error) => void }[]
  readonly exited: Promise<void>
}

/** The thread that hashes passwords, one after another, while it is needed. */
export class HashingThread {
  readonly #clock: Clock
  readonly #url: URL
  #running: Running | undefined
  #idle: Timer | undefined

  /** @param url of the thread's module, compiled: Node 20 runs no TypeScript. */
  constructor(clock: Clock, url: URL = MODULE) {
    this.#clock = clock
    this.#url = url
  }

  /** Rejects where the thread fails; the next one starts another. */
  derive(derivation: Derivation): Promise<Buffer> {
    this.#idle?.cancel()
    this.#running ??= this.#start()
    const running = this.#running
    return new Promise<Buffer>((resolve, reject) => {
      running.waiting.push({ resolve, reject })
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
      running.worker.postMessage(derivation)
    })
  }

  /** Whoever still waits is rejected. Resolves when the thread has gone. */
  async end(): Promise<void> {
    this.#idle?.cancel()
    const running = this.#running
    this.#running = undefined
    await running?.worker.terminate()
    await running?.exited
  }

  #start(): Running {
    const worker = new Worker(this.#url, {
      name: 'passwords',
      // What the process was started with is not meant for the thread: it has a module of its own to run.
      execArgv: [],
    })
    worker.unref()
    let fault = new Error('the thread that hashes passwords has ended')
    const running: Running = {
      worker,
      waiting: [],
      exited: new Promise(resolve => {
        worker.once('exit', () => {
          if (this.#running === running) this.#running = undefined
          for (const { reject } of running.waiting.splice(0)) reject(fault)
          resolve()
        })
      }),
    }
    worker.on('error', error => {
      fault = new Error('the thread that hashes passwords has failed', { cause: error })
    })
    worker.on('message', (derived: Derived) => {
      const asked = running.waiting.shift()
      if (derived.ok) asked?.resolve(Buffer.from(derived.hash))
      else asked?.reject(new Error(derived.message))
      if (running.waiting.length === 0 && this.#running === running) {
        this.#idle = this.#clock.after(IDLE_MS, () => void this.end())
      }
    })
    return running
  }
}
