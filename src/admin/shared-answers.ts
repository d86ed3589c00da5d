import type { OperationId } from '../schema/api/operations.ts'
import type { SharedEvents } from '../services/events.ts'
import type { Caller, Handler, Handlers, Reply } from './call.ts'

/** Further answers are not shared: one client must not fill the memory with distinct queries. */
const MAX_ANSWERS = 32

/** The parts of a request that the answer of a list depends on. */
interface ListRequest {
  readonly query: object
  readonly caller: Caller
}

/**
 * Answers of lists that all open consoles request at the same time, after an event of new calls: the first request makes
 * the answer, and others get it until the next sample of the store. So no answer is older than the event.
 */
export class SharedAnswers {
  readonly #events: Pick<SharedEvents, 'latest'>

  constructor(events: Pick<SharedEvents, 'latest'>) {
    this.#events = events
  }

  /** The same handlers, with shared answers where consoles read again without a change in between. */
  over(handlers: Handlers): Handlers {
    const { list_calls, list_rejections } = handlers
    return {
      ...handlers,
      list_calls: call => this.#answer('list_calls', call, () => list_calls(call)),
      list_rejections: call => this.#answer('list_rejections', call, () => list_rejections(call)),
    }
  }

  /** Callers share an answer only if role, scope and tenant are the same. */
  async #answer<Id extends OperationId>(
    id: Id,
    { query, caller: { role, scope, tenant } }: ListRequest,
    make: () => ReturnType<Handler<Id>>,
  ): Promise<Reply<Id>> {
    const { answers } = await this.#events.latest()
    const request = JSON.stringify([id, role, scope, tenant ?? null, query])
    const known = answers.get(request) as Promise<Reply<Id>> | undefined
    if (known) return known
    const made = make()
    if (answers.size < MAX_ANSWERS) answers.set(request, made)
    return made
  }
}
