import { isVisible } from '../../admission/authorise.ts'
import type { Estimate } from '../../admission/estimate.ts'
import type { Reading } from '../../admission/limits.ts'
import type { GwError } from '../../base/catalogue/wire.ts'
import type { KeyEntry, PublicationEntry } from '../../snapshot/types.ts'
import { BYTES_PER_TOKEN, estimateOf, pathOf, type View } from './decide.ts'

/** A model, and what is reserved for the shortest chat with it that names no `max_tokens`. */
interface FirstCall {
  readonly publication: PublicationEntry
  readonly estimate: Estimate
}

/** A call that one of the strict limits would refuse: time gives nothing of them back, or not soon. */
export interface RefusedFirstCall {
  readonly model: string
  readonly limit: 'quota' | 'budget' | 'balance'
  readonly refusal: GwError
}

type Strict = Reading & { readonly name: RefusedFirstCall['limit'] }

/** What a first call of each listed model reserves, by the arithmetic of a call itself. */
export function firstCalls({ snapshot, clock }: Pick<View, 'snapshot' | 'clock'>): readonly FirstCall[] {
  return [...snapshot.publications.values()].flatMap(publication => {
    if (publication.status !== 'listed') return []
    const body = { model: publication.name, messages: [{ role: 'user', content: 'Hello!' }] }
    const inputTokens = Math.ceil(Buffer.byteLength(JSON.stringify(body)) / BYTES_PER_TOKEN)
    const wish = { model: publication.name, inputTokens }
    const estimate = estimateOf(publication, wish, pathOf(publication), clock)
    return estimate ? { publication, estimate } : []
  })
}

/** The first of these calls that quota, budget or balance would refuse to a key; undefined where each would pass. */
export function refusedFirstCall(
  key: KeyEntry,
  calls: readonly FirstCall[],
  { limiter }: Pick<View, 'limiter'>,
): RefusedFirstCall | undefined {
  for (const call of calls) {
    if (!isVisible(key, call.publication)) continue
    for (const reading of limiter.survey(key, call)) {
      if (reading.refusal && isStrict(reading)) {
        return { model: call.publication.name, limit: reading.name, refusal: reading.refusal }
      }
    }
  }
  return undefined
}

function isStrict(reading: Reading): reading is Strict {
  return reading.name === 'quota' || reading.name === 'budget' || reading.name === 'balance'
}
