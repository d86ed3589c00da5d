import type { Clock } from '../../base/clock.ts'
import type { AppliedSet, Configurations } from '../../control/ports.ts'
import { IdleWorker } from './idle-worker.ts'

/** What the thread works on: all of it crosses as data. */
export interface ThreadSettings {
  /** The store's URL. */
  readonly storeUrl: string
  readonly cwd: string
  readonly environment: Readonly<Record<string, string | undefined>>
}

const MODULE = new URL('./configurations-thread.js', import.meta.url)

/**
 * Has configurations understood, planned and applied in a thread, over a connection of its own: thousands of keys take
 * seconds, in which nobody else must stand still. One after another. Of what is thrown there, a client's part is an
 * {@link ApiError} here.
 */
export class RemoteConfigurations implements Configurations {
  readonly #thread: IdleWorker<Configurations>

  /** @param modules where compiled threads are, if not beside this one. */
  constructor(settings: ThreadSettings, clock: Clock, modules?: URL) {
    const url = modules ? new URL('configurations-thread.js', modules) : MODULE
    this.#thread = new IdleWorker('configurations', url, clock, settings)
  }

  validate(...given: Parameters<Configurations['validate']>) {
    return this.#thread.ask(thread => thread.validate(...given))
  }

  plan(...given: Parameters<Configurations['plan']>) {
    return this.#thread.ask(thread => thread.plan(...given))
  }

  apply(...given: Parameters<Configurations['apply']>): Promise<AppliedSet> {
    return this.#thread.ask(thread => thread.apply(...given))
  }

  rollBack(...given: Parameters<Configurations['rollBack']>) {
    return this.#thread.ask(thread => thread.rollBack(...given))
  }

  /** Whoever still waits is rejected; what is not committed by then is undone. */
  end(): Promise<void> {
    return this.#thread.end()
  }
}
