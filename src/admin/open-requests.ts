import { ApiError } from '../base/catalogue/api.ts'

/** Limits the requests of one kind that each user has open at a time, in all its sessions and by all its tokens. */
export class OpenRequests {
  readonly #most: number
  readonly #open = new Map<string, number>()

  constructor(most: number) {
    this.#most = most
  }

  /** Runs the work as an open request of the user. @throws {ApiError} too_many_open_requests */
  async run<Result>(user: string, work: () => Promise<Result>): Promise<Result> {
    this.#take(user)
    try {
      return await work()
    } finally {
      this.#release(user)
    }
  }

  /**
   * The same events, counted as an open request until they end or are no longer read.
   * @throws {ApiError} too_many_open_requests
   */
  counted<Event>(user: string, events: AsyncIterable<Event>): AsyncGenerator<Event> {
    this.#take(user)
    return this.#until(user, events)
  }

  async *#until<Event>(user: string, events: AsyncIterable<Event>): AsyncGenerator<Event> {
    try {
      yield* events
    } finally {
      this.#release(user)
    }
  }

  #take(user: string): void {
    const open = this.#open.get(user) ?? 0
    if (open >= this.#most) throw new ApiError('too_many_open_requests')
    this.#open.set(user, open + 1)
  }

  #release(user: string): void {
    const open = (this.#open.get(user) ?? 1) - 1
    if (open === 0) this.#open.delete(user)
    else this.#open.set(user, open)
  }
}
