import { ApiError } from '../../base/catalogue/api.ts'
import { callPlayground } from '../../services/playground.ts'
import type { HandlersOf } from '../call.ts'
import type { LivePorts } from './operating.ts'

export function playgroundHandlers({ sessions }: Pick<LivePorts, 'sessions'>): HandlersOf<'call_playground'> {
  return {
    async call_playground({ body, caller: { session }, context, left }) {
      // No transaction of the store checks it again: the call is charged by the gateway.
      if (!(await sessions.isLive(session))) throw new ApiError('not_logged_in')
      return { body: await started(callPlayground(context, body, left)) }
    },
  }
}

/** Waits for the first event, so that a failure before it is an ordinary answer. */
async function started<Event>(events: AsyncGenerator<Event>): Promise<AsyncIterable<Event>> {
  const first = await events.next()
  return withFirst(first, events)
}

async function* withFirst<Event>(
  first: IteratorResult<Event, unknown>,
  events: AsyncGenerator<Event>,
): AsyncGenerator<Event> {
  if (first.done) return
  yield first.value
  yield* events
}
