import { bodyKind } from '../classify.ts'
import type { Head } from '../types.ts'
import type { AnswerFilter, FilterOptions } from './filter.ts'
import { JsonAnswer } from './json.ts'
import { OpaqueAnswer } from './opaque.ts'
import { RejectionAnswer } from './rejection.ts'
import { SseAnswer } from './sse.ts'

/** The filter for an answer, by its status and content type. */
export function filterFor(head: Head, options: FilterOptions): AnswerFilter {
  if (head.status >= 400) return new RejectionAnswer(options)
  switch (bodyKind(head)) {
    case 'events':
      return new SseAnswer(options)
    case 'json':
      return new JsonAnswer(options)
    case 'other':
      return new OpaqueAnswer(options)
  }
}

/** Whether the answer is an event stream, so that an error after its head can be sent in-band. */
export function isEventStream(filter: AnswerFilter): boolean {
  return filter instanceof SseAnswer
}
