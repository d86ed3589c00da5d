import { ApiError } from '../base/catalogue/api.ts'

/** Enough for some tabs of a browser, which opens at most six connections to a server. */
const MAX_STREAMS = 4

/** Counts the open event streams of each session. */
export class EventStreams {
  readonly #open = new Map<string, number>()

  /**
   * The same events, counted until they end or are no longer read.
   * @param session its digest.
   * @throws {ApiError} too_many_streams
   */
  counted<Event>(session: string, events: AsyncIterable<Event>): AsyncGenerator<Event> {
    const open = this.#open.get(session) ?? 0
    if (open >= MAX_STREAMS) throw new ApiError('too_many_streams')
    this.#open.set(session, open + 1)
    return this.#until(session, events)
  }

  async *#until<Event>(session: string, events: AsyncIterable<Event>): AsyncGenerator<Event> {
    try {
      yield* events
    } finally {
      const open = (this.#open.get(session) ?? 1) - 1
      if (open === 0) this.#open.delete(session)
      else this.#open.set(session, open)
    }
  }
}
