import { isVisible } from '../../admission/authorise.ts'
import type { Estimate } from '../../admission/estimate.ts'
import type { LimitReport } from '../../admission/limits.ts'
import type { GwError } from '../../base/catalogue/wire.ts'
import type { KeyEntry, PublicationEntry } from '../../snapshot/types.ts'
import { BYTES_PER_TOKEN, estimateOf, pathOf, type View } from './decide.ts'

/** A model, and what is reserved for the shortest chat with it that names no `max_tokens`. */
interface FirstCall {
  readonly publication: PublicationEntry
  readonly estimate: Estimate
}

/** A call that one of the strict limits would reject: time gives nothing of them back, or not soon. */
export interface RejectedFirstCall {
  readonly model: string
  readonly limit: 'quota' | 'budget' | 'balance'
  readonly rejection: GwError
}

type Strict = LimitReport & { readonly name: RejectedFirstCall['limit'] }

/** What a first call of each listed model reserves, by the arithmetic of a call itself. */
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

/** The first of these calls that quota, budget or balance would reject to a key; undefined where each would pass. */
export function rejectedFirstCall(
  key: KeyEntry,
  calls: readonly FirstCall[],
  { limiter }: Pick<View, 'limiter'>,
): RejectedFirstCall | undefined {
  for (const call of calls) {
    if (!isVisible(key, call.publication)) continue
    for (const report of limiter.inspect(key, call)) {
      if (report.rejection && isStrict(report)) {
        return { model: call.publication.name, limit: report.name, rejection: report.rejection }
      }
    }
  }
  return undefined
}

function isStrict(report: LimitReport): report is Strict {
  return report.name === 'quota' || report.name === 'budget' || report.name === 'balance'
}
