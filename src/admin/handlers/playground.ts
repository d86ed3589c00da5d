import { ApiError } from '../../base/catalogue/api.ts'
import { callPlayground } from '../../services/playground.ts'
import type { HandlersOf } from '../call.ts'
import { OpenRequests } from '../open-requests.ts'
import type { LivePorts } from './operating.ts'

/** Two models side by side, in two tabs. */
const MAX_CALLS = 4

export function playgroundHandlers({ sessions }: Pick<LivePorts, 'sessions'>): HandlersOf<'call_playground'> {
  const open = new OpenRequests(MAX_CALLS)
  return {
    async call_playground({ body, caller: { name, session }, context, left }) {
      // No transaction of the store checks it again: the call is charged by the gateway.
      if (!(await sessions.isLive(session))) throw new ApiError('not_logged_in')
      return { body: await started(open.counted(name, callPlayground(context, body, left))) }
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
  try {
    if (first.done) return
    yield first.value
    yield* events
  } finally {
    // The reader may leave at the first event.
    await events.return(undefined)
  }
}
