import { WIRE_ERRORS } from '../../base/catalogue/wire.ts'
import { formatNano } from '../../base/decimal.ts'
import { nearest } from '../../config/nearest.ts'
import { INFERENCE_PATHS } from '../../gateway/endpoints.ts'
import { type Bearer, type Decision, decide, pathOf, type View } from '../../gateway/why/decide.ts'
import { bearersNamed } from '../../gateway/why/explain.ts'
import { mendOf } from '../../gateway/why/mend.ts'
import { survey } from '../../routing/candidates.ts'
import type { ConfigTest } from '../../schema/config-test.ts'
import { cost } from '../../schema/cost.ts'
import { priceAt } from '../../snapshot/price-at.ts'
import type { Snapshot } from '../../snapshot/types.ts'
import type { Known } from '../why/known.ts'

/** What came of one test; `expected` and `actual` where it failed. */
export type Judgement =
  | { readonly ok: true }
  | {
      readonly ok: false
      readonly expected: string
      readonly actual: string
      /** What would make it hold, where that is known. */
      readonly mend?: string
    }

const HOLDS: Judgement = { ok: true }

/** Whether a test holds, by the code that decides for a gateway. */
export function judge(test: ConfigTest, view: View, known: Known): Judgement {
  const { snapshot } = view
  const stranger = strangerOf(test, snapshot, known)
  if (stranger !== undefined) return { ok: false, expected: expectationOf(test), actual: stranger }
  if (test.costs !== undefined) return judgeCost(test, test.costs, view)
  if (test.routes_to) return judgeRoute(test, test.routes_to, view, known)
  const keys = keysOf(test, snapshot, known)
  if (keys.length === 0) {
    return { ok: false, expected: expectationOf(test), actual: `tenant ${test.tenant} has no keys` }
  }
  return firstFailure(keys, bearer => judgeCall(test, decide(bearer, wishOf(test), view), known))
}

/** `served`, or `403 model_not_allowed`: what a test of a call expects. */
function expectationOf(test: ConfigTest): string {
  if (test.may_call !== undefined) return 'served'
  if (test.routes_to) return `routes to ${test.routes_to.join(', ')}`
  if (test.costs !== undefined) return `costs ${formatNano(test.costs)}`
  const { status, code } = refusalWanted(test)
  return ['refused', status, code].filter(part => part !== undefined).join(' ')
}

function judgeCall(test: ConfigTest, decision: Decision, known: Known): Judgement {
  const { refused } = decision
  const expected = expectationOf(test)
  if (test.may_call !== undefined) {
    if (!refused) return HOLDS
    const mend = mendOf(refused, decision, known)
    return { ok: false, expected, actual: told(decision), ...(mend !== undefined && { mend }) }
  }
  const { status, code } = refusalWanted(test)
  const fits =
    refused !== undefined &&
    (code === undefined || code === refused.refusal.code) &&
    (status === undefined || status === WIRE_ERRORS[refused.refusal.code].status)
  return fits ? HOLDS : { ok: false, expected, actual: told(decision) }
}

function refusalWanted({ status, because, is_refused: refused }: ConfigTest) {
  return { status: status ?? refused?.status, code: because ?? refused?.code }
}

function told({ refused, candidates, bearer }: Decision): string {
  const who = bearer.entry ? `key ${bearer.entry.name}: ` : ''
  if (refused) {
    const { code, message } = refused.refusal
    return `${who}${WIRE_ERRORS[code].status} ${code} (${message})`
  }
  const by = candidates.filter(({ share }) => share > 0).map(({ target }) => target.endpoint.name)
  return `${who}served by ${by.join(', ')}`
}

/** Tier by tier; within a tier the order says nothing, because the weights decide. */
function judgeRoute(test: ConfigTest, wanted: readonly string[], view: View, known: Known): Judgement {
  const expected = expectationOf(test)
  const wish = wishOf(test)
  if (test.key !== undefined || test.tenant !== undefined) {
    const barred = firstFailure(keysOf(test, view.snapshot, known), bearer => {
      const decision = decide(bearer, wish, view)
      return decision.refused ? { ok: false, expected, actual: told(decision) } : HOLDS
    })
    if (!barred.ok) return barred
  }
  const publication = view.snapshot.publications.get(wish.model)
  const { protocol } = wish.path ?? pathOf(publication)
  const usable = survey(publication?.targets[protocol] ?? [], view).filter(({ obstacle }) => !obstacle)
  const tiers = new Map<number, string[]>()
  for (const { target } of usable) {
    tiers.set(target.priority, [...(tiers.get(target.priority) ?? []), target.endpoint.name])
  }
  let at = 0
  const fits = [...tiers.values()].every(tier => {
    const part = wanted.slice(at, at + tier.length)
    at += tier.length
    return part.toSorted().join('\n') === tier.toSorted().join('\n')
  })
  if (fits && at === wanted.length) return HOLDS
  const actual = [...tiers.values()].map(tier => tier.join(' or ')).join(', then ')
  return { ok: false, expected, actual: actual === '' ? 'routes to nobody' : `routes to ${actual}` }
}

function judgeCost(test: ConfigTest, wanted: bigint, view: View): Judgement {
  const publication = view.snapshot.publications.get(test.model ?? '')
  const dated = publication && priceAt(publication, view.clock.nowMs())
  const { usage } = test
  const amount =
    dated && usage
      ? cost(dated.price, {
          inputTokens: usage.input,
          cachedInputTokens: usage.cached_input,
          cacheWriteTokens: usage.cache_write,
          outputTokens: usage.output,
          searchUnits: usage.search_units,
        })
      : 0n
  if (amount === wanted) return HOLDS
  const unpriced = dated ? '' : ' (there is no price)'
  return { ok: false, expected: expectationOf(test), actual: `costs ${formatNano(amount)}${unpriced}` }
}

function wishOf(test: ConfigTest) {
  const path = INFERENCE_PATHS.find(each => each.path === test.path)
  return {
    model: test.may_call ?? test.may_not_call ?? test.model ?? '',
    inputTokens: test.input_tokens ?? 1,
    ...(path && { path }),
    ...(test.max_tokens !== undefined && { maxTokens: test.max_tokens }),
  }
}

function keysOf(test: ConfigTest, snapshot: Snapshot, known: Known): readonly Bearer[] {
  const names =
    test.key === undefined
      ? known.names('key').filter(name => known.find('key', name)?.spec['tenant'] === test.tenant)
      : [test.key]
  return [...bearersNamed(names, snapshot, known)]
}

function firstFailure(bearers: readonly Bearer[], ask: (bearer: Bearer) => Judgement): Judgement {
  for (const bearer of bearers) {
    const judgement = ask(bearer)
    if (!judgement.ok) return judgement
  }
  return HOLDS
}

/** A name that nothing bears: a test of it would hold for the wrong reason. */
function strangerOf(test: ConfigTest, snapshot: Snapshot, known: Known): string | undefined {
  const { model } = wishOf(test)
  const expectsNone = refusalWanted(test).code === 'model_not_found'
  const named = [
    ['key', test.key === undefined ? [] : [test.key], known.names('key')],
    ['tenant', test.tenant === undefined ? [] : [test.tenant], snapshot.tenants.keys()],
    ['publication', expectsNone ? [] : [model], snapshot.publications.keys()],
    ['endpoint', [...(test.down ?? []), ...(test.routes_to ?? [])], snapshot.endpoints.keys()],
  ] as const
  for (const [kind, names, there] of named) {
    const all = new Set<string>(there)
    const missing = names.find(name => !all.has(name))
    if (missing === undefined) continue
    const meant = nearest(missing, all)
    return `there is no ${kind} ${missing}${meant === undefined ? '' : `; did you mean ${meant}?`}`
  }
  return undefined
}
