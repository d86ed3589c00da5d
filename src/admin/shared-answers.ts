import type { OperationId } from '../schema/api/operations.ts'
import type { SharedEvents } from '../services/events.ts'
import type { Caller, Handler, Handlers, Reply } from './call.ts'

/** Beyond these, an answer is made for its own request: one client must not fill the memory with distinct questions. */
const MAX_ANSWERS = 32

/** What the answer of a list may depend on. */
interface Question {
  readonly query: object
  readonly caller: Caller
}

/**
 * Answers of lists that open consoles read again at the same moment, after an event of new calls: the first request makes
 * the answer, and the others within the same look at the store get it, too. So no answer is older than the event.
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
    { query, caller: { role, scope, tenant } }: Question,
    make: () => ReturnType<Handler<Id>>,
  ): Promise<Reply<Id>> {
    const { answers } = await this.#events.latest()
    const question = JSON.stringify([id, role, scope, tenant ?? null, query])
    const known = answers.get(question) as Promise<Reply<Id>> | undefined
    if (known) return known
    const made = make()
    if (answers.size < MAX_ANSWERS) answers.set(question, made)
    return made
  }
}
