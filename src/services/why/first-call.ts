import type { GwError } from '../../base/catalogue/wire.ts'
import { isVisible } from '../../limits/authorise.ts'
import type { Estimate } from '../../limits/estimate.ts'
import type { KeyEntry, PublicationEntry } from '../../snapshot/types.ts'
import { BYTES_PER_TOKEN, estimateOf, pathOf, type View } from './decide.ts'

/** A model, and the reservation of a very short chat with it without `max_tokens`. */
interface FirstCall {
  readonly publication: PublicationEntry
  readonly estimate: Estimate
}

/** A call that a strict limit would reject: one that does not recover with time, or not soon. */
export interface RejectedFirstCall {
  readonly model: string
  readonly rejection: GwError
}

/** The reservation of a first call of each listed model, computed as for a real call. */
export function firstCalls({ snapshot, clock }: Pick<View, 'snapshot' | 'clock'>): readonly FirstCall[] {
  return [...snapshot.publications.values()].flatMap(publication => {
    if (publication.status !== 'listed') return []
    const body = { model: publication.name, messages: [{ role: 'user', content: 'Hello!' }] }
    const inputTokens = Math.ceil(Buffer.byteLength(JSON.stringify(body)) / BYTES_PER_TOKEN)
    const callOptions = { model: publication.name, inputTokens }
    const estimate = estimateOf(publication, callOptions, pathOf(publication), clock)
    return estimate ? { publication, estimate } : []
  })
}

/** The first of these calls that the key's quota, budget or balance would reject; undefined if each would pass. */
export function rejectedFirstCall(
  key: KeyEntry,
  calls: readonly FirstCall[],
  { limiter }: Pick<View, 'limiter'>,
): RejectedFirstCall | undefined {
  for (const call of calls) {
    if (!isVisible(key, call.publication)) continue
    for (const { rejection } of limiter.inspect(key, call)) {
      // A wait means that the limit recovers soon.
      if (rejection && rejection.retryAfterMs === undefined)
        return { model: call.publication.name, rejection }
    }
  }
  return undefined
}
