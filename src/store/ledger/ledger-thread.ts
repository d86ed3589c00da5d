import { Worker } from 'node:worker_threads'
import { CommandError } from '../../base/catalogue/command.ts'
import type { PostgresSettings } from '../postgres/ledger/messages.ts'
import type { Report, WriterSettings } from './messages.ts'

/** A thread that can take rows. */
export interface StartedThread {
  readonly worker: Worker
  readonly journalId: string
  /** The number of the next row of the journal. */
  readonly nextRow: number
  /** Rows of the journal that the store could not accept. */
  readonly alarms: readonly string[]
}

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

  /**
   * Resolves when the journal of earlier processes is in the store.
   * @throws {CommandError} journal_damaged; the reason, if the thread ends instead.
   */
  async begin(settings: WriterSettings): Promise<StartedThread> {
    const { worker, first } = await this.start(settings)
    const report = first as Report
    if (report.is === 'damaged') throw new CommandError('journal_damaged', `${report.message}.`)
    if (report.is !== 'ready')
      throw new Error(`the ledger's thread reported ${report.is} before it was ready`)
    const { journalId, nextRow, alarms } = report
    return { worker, journalId, nextRow, alarms }
  }

  /** Resolves with the first report. @throws the reason, if the thread ends instead. */
  async start(
    settings: WriterSettings | PostgresSettings,
  ): Promise<{ readonly worker: Worker; readonly first: object }> {
    this.#worker.ref()
    this.#worker.postMessage(settings)
    // Not `events.once`, which settles later: a thread that reports and ends at once would have ended without a report.
    const reported = new Promise<object>(resolve => this.#worker.once('message', resolve))
    const first = await Promise.race([reported, this.#ended])
    if (first instanceof Error) throw first
    return { worker: this.#worker, first }
  }

  /** Ends a thread that is not needed. */
  async end(): Promise<void> {
    await this.#worker.terminate()
  }
}
