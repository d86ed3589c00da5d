import { WIRE_ERRORS } from '../../base/catalogue/wire.ts'
import { formatNano } from '../../base/decimal.ts'
import { didYouMean } from '../../config/did-you-mean.ts'
import type { ConfigTest } from '../../schema/config-test.ts'
import { cost } from '../../schema/cost.ts'
import { INFERENCE_PATHS } from '../../schema/paths.ts'
import { priceAt } from '../../snapshot/price-at.ts'
import { targetsAt } from '../../snapshot/served-paths.ts'
import type { Snapshot } from '../../snapshot/types.ts'
import { inspect } from '../../upstream/routing/candidates.ts'
import type { LoadedLookup } from '../why/context.ts'
import { type Caller, type Decision, decide, pathOf, type View } from '../why/decide.ts'
import { callersNamed } from '../why/explain-calls.ts'
import { hintOf } from '../why/hint.ts'

/** The result of one test; `expected` and `actual` if it failed. */
export type Judgement =
  | { readonly ok: true }
  | {
      readonly ok: false
      readonly expected: string
      readonly actual: string
      /** What would make the test pass, if known. */
      readonly hint?: string
    }

const HOLDS: Judgement = { ok: true }

/** Decides whether a test passes, with the code that decides in a gateway. */
export function judge(test: ConfigTest, view: View, known: LoadedLookup): Judgement {
  const { snapshot } = view
  const unknown = unknownName(test, snapshot, known)
  if (unknown !== undefined) return { ok: false, expected: expectationOf(test), actual: unknown }
  if (test.costs !== undefined) return judgeCost(test, test.costs, view)
  if (test.routes_to) return judgeRoute(test, test.routes_to, view, known)
  const keys = keysOf(test, snapshot, known)
  if (keys.length === 0) {
    return { ok: false, expected: expectationOf(test), actual: `tenant ${test.tenant} has no keys` }
  }
  return firstFailure(keys, caller => judgeCall(test, decide(caller, callOptionsOf(test), view), known))
}

/** `served`, or `403 model_not_allowed`: the expected result of a call test. */
function expectationOf(test: ConfigTest): string {
  if (test.may_call !== undefined) return 'served'
  if (test.routes_to) return `routes to ${test.routes_to.join(', ')}`
  if (test.costs !== undefined) return `costs ${formatNano(test.costs)}`
  const { status, code } = rejectionWanted(test)
  return ['rejected', status, code].filter(part => part !== undefined).join(' ')
}

function judgeCall(test: ConfigTest, decision: Decision, known: LoadedLookup): Judgement {
  const { rejected } = decision
  const expected = expectationOf(test)
  if (test.may_call !== undefined) {
    if (!rejected) return HOLDS
    const hint = hintOf(rejected, decision, known)
    return { ok: false, expected, actual: compare(decision), ...(hint !== undefined && { hint }) }
  }
  const { status, code } = rejectionWanted(test)
  const fits =
    rejected !== undefined &&
    (code === undefined || code === rejected.rejection.code) &&
    (status === undefined || status === WIRE_ERRORS[rejected.rejection.code].status)
  return fits ? HOLDS : { ok: false, expected, actual: compare(decision) }
}

function rejectionWanted({ status, because, is_rejected: rejected }: ConfigTest) {
  return { status: status ?? rejected?.status, code: because ?? rejected?.code }
}

function compare({ rejected, candidates, caller }: Decision): string {
  const prefix = caller.entry ? `key ${caller.entry.name}: ` : ''
  if (rejected) {
    const { code, message } = rejected.rejection
    return `${prefix}${WIRE_ERRORS[code].status} ${code} (${message})`
  }
  const by = candidates.filter(({ share }) => share > 0).map(({ target }) => target.endpoint.name)
  return `${prefix}served by ${[...new Set(by)].join(', ')}`
}

const ON_NODE = ' on '

/**
 * Compared tier by tier. The order within a tier is ignored, because the weights decide it. Nodes of an endpoint count
 * one by one only if the test names some.
 */
function judgeRoute(test: ConfigTest, wanted: readonly string[], view: View, known: LoadedLookup): Judgement {
  const expected = expectationOf(test)
  const callOptions = callOptionsOf(test)
  if (test.key !== undefined || test.tenant !== undefined) {
    const rejected = firstFailure(keysOf(test, view.snapshot, known), caller => {
      const decision = decide(caller, callOptions, view)
      return decision.rejected ? { ok: false, expected, actual: compare(decision) } : HOLDS
    })
    if (!rejected.ok) return rejected
  }
  const publication = view.snapshot.publications.get(callOptions.model)
  const path = callOptions.path ?? (publication && pathOf(publication))
  const bound = publication && path ? view.nodes.expand(targetsAt(publication, path)) : []
  const usable = inspect(bound, view).filter(({ obstacle }) => !obstacle)
  const namesNodes = wanted.some(name => name.includes(ON_NODE))
  const tiers = new Map<number, string[]>()
  for (const { target } of usable) {
    const { name, node } = target.endpoint
    const label = namesNodes && node !== undefined ? `${name}${ON_NODE}${node}` : name
    const tier = tiers.get(target.priority) ?? []
    if (!tier.includes(label)) tiers.set(target.priority, [...tier, label])
  }
  let at = 0
  const fits = [...tiers.values()].every(tier => {
    const part = wanted.slice(at, at + tier.length)
    at += tier.length
    return part.toSorted().join('\n') === tier.toSorted().join('\n')
  })
  if (fits && at === wanted.length) return HOLDS
  const actual = [...tiers.values()].map(tier => tier.join(' or ')).join(', then ')
  return { ok: false, expected, actual: actual === '' ? 'routes to no endpoint' : `routes to ${actual}` }
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
          durationMs: usage.duration_ms,
          characters: usage.characters,
          images: usage.images,
        })
      : 0n
  if (amount === wanted) return HOLDS
  const unpriced = dated ? '' : ' (no price)'
  return { ok: false, expected: expectationOf(test), actual: `costs ${formatNano(amount)}${unpriced}` }
}

function callOptionsOf(test: ConfigTest) {
  const path = INFERENCE_PATHS.find(each => each.path === test.path)
  return {
    model: test.may_call ?? test.may_not_call ?? test.model ?? '',
    inputTokens: test.input_tokens ?? 1,
    ...(path && { path }),
    ...(test.max_tokens !== undefined && { maxTokens: test.max_tokens }),
  }
}

function keysOf(test: ConfigTest, snapshot: Snapshot, known: LoadedLookup): readonly Caller[] {
  const names =
    test.key === undefined
      ? known.names('key').filter(name => known.find('key', name)?.spec['tenant'] === test.tenant)
      : [test.key]
  return [...callersNamed(names, snapshot, known)]
}

function firstFailure(callers: readonly Caller[], ask: (caller: Caller) => Judgement): Judgement {
  for (const caller of callers) {
    const judgement = ask(caller)
    if (!judgement.ok) return judgement
  }
  return HOLDS
}

/** A name that does not exist: a test of it would pass for the wrong reason. */
function unknownName(test: ConfigTest, snapshot: Snapshot, known: LoadedLookup): string | undefined {
  const { model } = callOptionsOf(test)
  const expectsNone = rejectionWanted(test).code === 'model_not_found'
  const routes = (test.routes_to ?? []).map(name => name.split(ON_NODE) as [string, string?])
  const fixtures = Object.keys(test.nodes ?? {})
  const joined = snapshot.nodeAdmission === 'token' ? fixtures : []
  const named = [
    ['key', test.key === undefined ? [] : [test.key], known.names('key')],
    ['tenant', test.tenant === undefined ? [] : [test.tenant], snapshot.tenants.keys()],
    ['publication', expectsNone ? [] : [model], snapshot.publications.keys()],
    ['endpoint', [...(test.down ?? []), ...routes.map(([endpoint]) => endpoint)], snapshot.endpoints.keys()],
    [
      'node',
      [...fixtures, ...routes.flatMap(([, node]) => node ?? [])],
      [...snapshot.nodes.keys(), ...joined],
    ],
  ] as const
  for (const [kind, names, there] of named) {
    const all = new Set<string>(there)
    const missing = names.find(name => !all.has(name))
    if (missing === undefined) continue
    const suggestion = didYouMean(missing, all)
    return `there is no ${kind} ${missing}${suggestion === undefined ? '' : `; did you mean ${suggestion}?`}`
  }
  return undefined
}
