import type { Clock } from '../../base/clock.ts'
import type { Derivation } from '../../base/password.ts'
import { IdleWorker } from './idle-worker.ts'

/** The functions of the thread. */
export interface HashingThread {
  derive(derivation: Derivation): Promise<Uint8Array>
}

const MODULE = new URL('./hashing-thread.js', import.meta.url)

/** Hashes passwords one after another, in a thread of the lowest priority. */
export class Hashing {
  readonly #thread: IdleWorker<HashingThread>

  /** @param modules the folder of compiled thread modules, if not this one. */
  constructor(clock: Clock, modules?: URL) {
    const url = modules ? new URL('hashing-thread.js', modules) : MODULE
    this.#thread = new IdleWorker('passwords', url, clock)
  }

  async derive(derivation: Derivation): Promise<Buffer> {
    return Buffer.from(await this.#thread.call(thread => thread.derive(derivation)))
  }

  /** Rejects pending calls. */
  end(): Promise<void> {
    return this.#thread.end()
  }
}
