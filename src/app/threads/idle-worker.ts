import { Worker } from 'node:worker_threads'
import type { Clock, Timer } from '../../base/clock.ts'
import { type Calls, callsOver, endCalls } from './worker-rpc.ts'

/** Questions come in groups; afterwards the thread's memory is worth more than the start of another one. */
const IDLE_MS = 60_000

/** One life of the thread. */
interface Running<There extends object> {
  readonly worker: Worker
  readonly calls: Calls<There, object>
  readonly exited: Promise<void>
  /** Questions that wait for their answers. */
  waiting: number
}

/** A thread that answers questions; it is there while it is needed. */
export class IdleWorker<There extends object> {
  readonly #name: string
  readonly #url: URL
  readonly #clock: Clock
  readonly #settings: unknown
  #running: Running<There> | undefined
  #idle: Timer | undefined

  /**
   * @param url of the thread's module, compiled: a thread runs what the build made, in tests too.
   * @param settings its `workerData`.
   */
  constructor(name: string, url: URL, clock: Clock, settings?: unknown) {
    this.#name = name
    this.#url = url
    this.#clock = clock
    this.#settings = settings
  }

  /** Rejects as the thread does, and where it fails; the next one starts another. */
  async ask<Answer>(question: (thread: Calls<There, object>) => Promise<Answer>): Promise<Answer> {
    this.#idle?.cancel()
    this.#running ??= this.#start()
    const running = this.#running
    running.waiting += 1
    try {
      return await question(running.calls)
    } finally {
      running.waiting -= 1
      if (running.waiting === 0 && this.#running === running) {
        this.#idle = this.#clock.after(IDLE_MS, () => void this.end())
      }
    }
  }

  /** Whoever still waits is rejected. Resolves when the thread has gone. */
  async end(): Promise<void> {
    this.#idle?.cancel()
    const running = this.#running
    this.#running = undefined
    await running?.worker.terminate()
    await running?.exited
  }

  #start(): Running<There> {
    const worker = new Worker(this.#url, {
      name: this.#name,
      // What the process was started with is not meant for the thread: it has a module of its own to run.
      execArgv: [],
      workerData: this.#settings,
    })
    worker.unref()
    const calls: Calls<There, object> = callsOver(worker, {})
    let fault = new Error(`the thread for ${this.#name} has ended`)
    worker.on('error', error => {
      fault = new Error(`the thread for ${this.#name} has failed`, { cause: error })
    })
    const running: Running<There> = {
      worker,
      calls,
      waiting: 0,
      exited: new Promise(resolve => {
        worker.once('exit', () => {
          if (this.#running === running) this.#running = undefined
          endCalls(calls, fault)
          resolve()
        })
      }),
    }
    return running
  }
}
