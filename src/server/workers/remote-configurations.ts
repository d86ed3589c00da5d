import type { Configurations } from '../../admin/ports.ts'
import type { Clock } from '../../base/clock.ts'
import { IdleWorker } from './idle-worker.ts'

/** The settings of the thread: all of them cross as data. */
export interface ThreadSettings {
  /** The store's URL. */
  readonly storeUrl: string
  readonly cwd: string
  readonly environment: Readonly<Record<string, string | undefined>>
}

const MODULE = new URL('./configurations-thread.js', import.meta.url)

/**
 * Parses, plans and applies configurations in a thread with its own store connection, one after another: thousands of
 * keys take seconds, which must not block other requests. Errors for the client arrive as {@link ApiError}.
 */
export class RemoteConfigurations implements Configurations {
  readonly #thread: IdleWorker<Configurations>

  /** @param modules the folder of compiled thread modules, if not this one. */
  constructor(settings: ThreadSettings, clock: Clock, modules?: URL) {
    const url = modules ? new URL('configurations-thread.js', modules) : MODULE
    this.#thread = new IdleWorker('configurations', url, clock, settings)
  }

  validate(...given: Parameters<Configurations['validate']>) {
    return this.#thread.call(thread => thread.validate(...given))
  }

  plan(...given: Parameters<Configurations['plan']>) {
    return this.#thread.call(thread => thread.plan(...given))
  }

  preview(...given: Parameters<Configurations['preview']>) {
    return this.#thread.call(thread => thread.preview(...given))
  }

  apply(...given: Parameters<Configurations['apply']>) {
    return this.#thread.call(thread => thread.apply(...given))
  }

  rollBack(...given: Parameters<Configurations['rollBack']>) {
    return this.#thread.call(thread => thread.rollBack(...given))
  }

  /** Rejects pending calls; work that is not committed yet is rolled back. */
  end(): Promise<void> {
    return this.#thread.end()
  }
}
