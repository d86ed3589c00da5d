import { ApiError } from '../../base/catalogue/api.ts'
import type { Clock } from '../../base/clock.ts'
import type { AppliedSet, Configurations } from '../../control/ports.ts'
import { AnsweringThread } from './answering-thread.ts'

/** What the thread works on: all of it crosses as data. */
export interface ThreadSettings {
  /** The store's URL. */
  readonly storeUrl: string
  readonly cwd: string
  readonly environment: Readonly<Record<string, string | undefined>>
}

/** One of the things that are done with configurations. */
export type Order = {
  readonly [Method in keyof Configurations]: {
    readonly method: Method
    readonly given: Parameters<Configurations[Method]>
  }
}[keyof Configurations]

/** An order, and where to carry it out. */
export interface Errand {
  readonly settings: ThreadSettings
  readonly order: Order
}

/** What an {@link ApiError} is made of. */
export type PlainError = Pick<ApiError, 'code' | 'message'> & ConstructorParameters<typeof ApiError>[2]

export type Outcome =
  | { readonly ok: true; readonly answer: unknown }
  | { readonly ok: false; readonly error: PlainError }

const MODULE = new URL('./configurations-thread.js', import.meta.url)

/**
 * Has configurations understood, planned and applied in a thread, over a connection of its own: thousands of keys take
 * seconds, in which the gateway must not stand still. One after another.
 */
export class DistantConfigurations implements Configurations {
  readonly #thread: AnsweringThread<Errand, Outcome>
  readonly #settings: ThreadSettings

  /** @param modules where compiled threads are, if not beside this one. */
  constructor(settings: ThreadSettings, clock: Clock, modules?: URL) {
    const url = modules ? new URL('configurations-thread.js', modules) : MODULE
    this.#thread = new AnsweringThread('configurations', url, clock)
    this.#settings = settings
  }

  validate(...given: Parameters<Configurations['validate']>) {
    return this.#ask<Configurations['validate']>({ method: 'validate', given })
  }

  plan(...given: Parameters<Configurations['plan']>) {
    return this.#ask<Configurations['plan']>({ method: 'plan', given })
  }

  apply(...given: Parameters<Configurations['apply']>): Promise<AppliedSet> {
    return this.#ask<Configurations['apply']>({ method: 'apply', given })
  }

  rollBack(...given: Parameters<Configurations['rollBack']>) {
    return this.#ask<Configurations['rollBack']>({ method: 'rollBack', given })
  }

  /** Whoever still waits is rejected; what is not committed by then is undone. */
  end(): Promise<void> {
    return this.#thread.end()
  }

  /** @throws {ApiError} what it would throw here, as a client is told of it. */
  async #ask<Method extends Configurations[keyof Configurations]>(
    order: Order,
  ): Promise<Awaited<ReturnType<Method>>> {
    const outcome = await this.#thread.ask({ settings: this.#settings, order })
    // The thread has called this very method.
    if (outcome.ok) return outcome.answer as Awaited<ReturnType<Method>>
    const { code, message, ...details } = outcome.error
    throw new ApiError(code, message, details)
  }
}
