import { Worker } from 'node:worker_threads'
import type { Clock, Timer } from '../../base/clock.ts'
import type { FilesJob, FilesOutcome } from './outcome.ts'

/** Editors save again soon. After this time, freeing the memory is worth a new start. */
const IDLE_MS = 30_000

/** One run of the thread. */
interface Running {
  readonly worker: Worker
  readonly exited: Promise<void>
  /** Receives the outcome of the current job. */
  answer: (outcome: FilesOutcome) => void
}

/** The thread that applies files. Runs only while it is needed. */
export class FilesThread {
  readonly #url: URL
  readonly #clock: Clock
  #running: Running | undefined
  #idle: Timer | undefined

  /** @param url of the compiled thread module: threads run the build, in tests too. */
  constructor(url: URL, clock: Clock) {
    this.#url = url
    this.#clock = clock
  }

  /** One job at a time. Never rejects. */
  async apply(job: FilesJob): Promise<FilesOutcome> {
    this.#idle?.cancel()
    this.#running ??= this.#start()
    const running = this.#running
    const outcome = await new Promise<FilesOutcome>(resolve => {
      running.answer = resolve
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
      running.worker.postMessage(job)
    })
    if (this.#running === running) this.#idle = this.#clock.after(IDLE_MS, () => void this.end())
    return outcome
  }

  /** A job in progress commits or does not. Resolves after the thread has exited. */
  async end(): Promise<void> {
    this.#idle?.cancel()
    const running = this.#running
    this.#running = undefined
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    running?.worker.postMessage('end')
    await running?.exited
  }

  #start(): Running {
    const worker = new Worker(this.#url, {
      name: 'files',
      // The thread runs its own module, so it must not inherit the arguments of the process.
      execArgv: [],
    })
    let fault = 'The thread that applies files has ended.'
    worker.on('error', error => {
      fault = `The thread that applies files has failed: ${String(error)}`
    })
    const running: Running = {
      worker,
      answer: () => undefined,
      exited: new Promise(resolve => {
        worker.once('exit', () => {
          if (this.#running === running) this.#running = undefined
          running.answer(failed(fault))
          resolve()
        })
      }),
    }
    worker.on('message', (outcome: FilesOutcome) => running.answer(outcome))
    return running
  }
}

function failed(message: string): FilesOutcome {
  return {
    is: 'rejected',
    fingerprint: '',
    code: 'unexpected',
    message,
    hint: 'Nothing was changed. Report it, with the lines of the log before this one.',
    problems: [],
  }
}
