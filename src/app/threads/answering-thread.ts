import { Worker } from 'node:worker_threads'
import type { Clock, Timer } from '../../base/clock.ts'

/** Questions come in groups; afterwards the thread's memory is worth more than the start of another one. */
const IDLE_MS = 60_000

/** One life of the thread, and who waits for its answers, in their order. */
interface Running<Answer> {
  readonly worker: Worker
  readonly waiting: { readonly resolve: (answer: Answer) => void; readonly reject: (error: Error) => void }[]
  readonly exited: Promise<void>
}

/** A thread that answers questions, plain data both, one after another; it is there while it is needed. */
export class AnsweringThread<Question, Answer> {
  readonly #name: string
  readonly #url: URL
  readonly #clock: Clock
  #running: Running<Answer> | undefined
  #idle: Timer | undefined

  /** @param url of the thread's module, compiled: Node 20 runs no TypeScript. */
  constructor(name: string, url: URL, clock: Clock) {
    this.#name = name
    this.#url = url
    this.#clock = clock
  }

  /** Rejects where the thread fails; the next one starts another. */
  ask(question: Question): Promise<Answer> {
    this.#idle?.cancel()
    this.#running ??= this.#start()
    const running = this.#running
    return new Promise<Answer>((resolve, reject) => {
      running.waiting.push({ resolve, reject })
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
      running.worker.postMessage(question)
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

  #start(): Running<Answer> {
    const worker = new Worker(this.#url, {
      name: this.#name,
      // What the process was started with is not meant for the thread: it has a module of its own to run.
      execArgv: [],
    })
    worker.unref()
    let fault = new Error(`the thread for ${this.#name} has ended`)
    const running: Running<Answer> = {
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
      fault = new Error(`the thread for ${this.#name} has failed`, { cause: error })
    })
    worker.on('message', (answer: Answer) => {
      running.waiting.shift()?.resolve(answer)
      if (running.waiting.length === 0 && this.#running === running) {
        this.#idle = this.#clock.after(IDLE_MS, () => void this.end())
      }
    })
    return running
  }
}
