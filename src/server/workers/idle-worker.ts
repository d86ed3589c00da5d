import { Worker } from 'node:worker_threads'
import type { Clock, Timer } from '../../base/clock.ts'
import { type Calls, callsOver, endCalls } from './worker-rpc.ts'

/** Calls come in bursts. After this time, freeing the memory is worth a new start. */
const IDLE_MS = 60_000

/** One run of the thread. */
interface Running<There extends object> {
  readonly worker: Worker
  readonly calls: Calls<There, object>
  readonly exited: Promise<void>
  /** The number of pending calls. */
  waiting: number
}

/** A thread that answers calls. It runs only while it is needed. */
export class IdleWorker<There extends object> {
  readonly #name: string
  readonly #url: URL
  readonly #clock: Clock
  readonly #settings: unknown
  #running: Running<There> | undefined
  #idle: Timer | undefined

  /**
   * @param url of the compiled thread module: threads run the build, in tests too.
   * @param settings the `workerData` of the thread.
   */
  constructor(name: string, url: URL, clock: Clock, settings?: unknown) {
    this.#name = name
    this.#url = url
    this.#clock = clock
    this.#settings = settings
  }

  /** Rejects with the error of the thread, or if the thread fails; the next call starts a new thread. */
  async call<Answer>(request: (thread: Calls<There, object>) => Promise<Answer>): Promise<Answer> {
    this.#idle?.cancel()
    this.#running ??= this.#start()
    const running = this.#running
    running.waiting += 1
    try {
      return await request(running.calls)
    } finally {
      running.waiting -= 1
      if (running.waiting === 0 && this.#running === running) {
        this.#idle = this.#clock.after(IDLE_MS, () => void this.end())
      }
    }
  }

  /** Rejects pending calls. Resolves after the thread has exited. */
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
      // The thread runs its own module, so it must not inherit the arguments of the process.
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
