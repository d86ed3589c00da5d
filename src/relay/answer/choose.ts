import { GwError } from '../../base/catalogue/wire.ts'
import { headerValue } from '../headers.ts'
import type { Head } from '../types.ts'
import type { AnswerFilter, FilterOptions } from './filter.ts'
import { JsonAnswer } from './json.ts'
import { RefusalAnswer } from './refusal.ts'
import { SseAnswer } from './sse.ts'

/**
 * The filter for an answer, by what its head says it is.
 *
 * @throws {GwError} upstream_error, where a success is neither JSON nor a stream of events, or is compressed
 * although plain bytes were asked for: it could be neither renamed nor metered.
 */
export function filterFor(head: Head, options: FilterOptions): AnswerFilter {
  if (head.status >= 400) return new RefusalAnswer(options)
  const type = (headerValue(head.headers, 'content-type') ?? '').toLowerCase()
  const coding = (headerValue(head.headers, 'content-encoding') ?? 'identity').toLowerCase()
  if (coding === 'identity') {
    if (type.startsWith('text/event-stream')) return new SseAnswer(options)
    if (/^application\/(?:[\w.-]+\+)?json\b/.test(type)) return new JsonAnswer(options)
  }
  throw new GwError(
    'upstream_error',
    'The model server answered something that is neither JSON nor an event stream.',
    {
      reason: `content-type ${type || 'missing'}, content-encoding ${coding}`,
    },
  )
}

/** Whether the answer is a stream of events, so that an error after its head can be told in-band. */
export function isEventStream(filter: AnswerFilter): boolean {
  return filter instanceof SseAnswer
}
