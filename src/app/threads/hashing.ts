import type { Clock } from '../../base/clock.ts'
import type { Derivation } from '../../base/password.ts'
import { IdleWorker } from './idle-worker.ts'

/** What the thread does. */
export interface HashingThread {
  derive(derivation: Derivation): Promise<Uint8Array>
}

const MODULE = new URL('./hashing-thread.js', import.meta.url)

/** Hashes passwords in a thread that comes behind all others, one after another. */
export class Hashing {
  readonly #thread: IdleWorker<HashingThread>

  /** @param modules where compiled threads are, if not beside this one. */
  constructor(clock: Clock, modules?: URL) {
    const url = modules ? new URL('hashing-thread.js', modules) : MODULE
    this.#thread = new IdleWorker('passwords', url, clock)
  }

  async derive(derivation: Derivation): Promise<Buffer> {
    return Buffer.from(await this.#thread.ask(thread => thread.derive(derivation)))
  }

  /** Whoever still waits is rejected. */
  end(): Promise<void> {
    return this.#thread.end()
  }
}
