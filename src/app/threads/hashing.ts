import type { Clock } from '../../base/clock.ts'
import type { Derivation } from '../../base/password.ts'
import { AnsweringThread } from './answering-thread.ts'

/** What came of one hash, as it crosses back. */
export type Derived =
  | { readonly ok: true; readonly hash: Uint8Array }
  | { readonly ok: false; readonly message: string }

const MODULE = new URL('./hashing-thread.js', import.meta.url)

/** Hashes passwords in a thread that comes behind the gateway's, one after another. */
export class Hashing {
  readonly #thread: AnsweringThread<Derivation, Derived>

  /** @param modules where compiled threads are, if not beside this one. */
  constructor(clock: Clock, modules?: URL) {
    const url = modules ? new URL('hashing-thread.js', modules) : MODULE
    this.#thread = new AnsweringThread('passwords', url, clock)
  }

  async derive(derivation: Derivation): Promise<Buffer> {
    const derived = await this.#thread.ask(derivation)
    if (derived.ok) return Buffer.from(derived.hash)
    throw new Error(derived.message)
  }

  /** Whoever still waits is rejected. */
  end(): Promise<void> {
    return this.#thread.end()
  }
}
