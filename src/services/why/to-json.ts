import { retryAfterSeconds } from '../../base/catalogue/retry-after.ts'
import { type GwError, WIRE_ERRORS } from '../../base/catalogue/wire.ts'
import { formatNano } from '../../base/decimal.ts'
import { iso } from '../../base/iso.ts'
import { pluralize } from '../../base/pluralize.ts'
import type { LimitReport } from '../../limits/limits.ts'
import type { OperationOf } from '../../schema/api/operations.ts'
import type { AnswerOf } from '../../schema/api/types.ts'
import type { FixedCheck } from '../../schema/api/why.ts'
import type { CallPath } from '../../schema/paths.ts'
import type { Candidate } from '../../upstream/routing/candidates.ts'
import type { CheckResult, Decision } from './decide.ts'
import { hintOf, patternsFor } from './hint.ts'
import type { WhyLookup } from './lookup.ts'

/** The explanation of a call, in the JSON of REST and of `gw why --format json`. */
export type Explanation = AnswerOf<OperationOf<'explain'>>
export type DecisionJson = NonNullable<Explanation['decision']>
export type CheckJson = DecisionJson['checks'][number]
export type CandidateJson = DecisionJson['candidates'][number]

type Detail = (decision: Decision, lookup: WhyLookup, step: CheckResult) => string

/** A short description of each check's subject. */
const DETAILS: Readonly<Record<FixedCheck, Detail>> = {
  key: ({ caller: { entry, rejection } }) => {
    if (!entry) return 'the secret of no key'
    if (rejection) return `key ${entry.name} has no secret`
    return entry.enabled
      ? `key ${entry.name}, ${expiryOf(entry.expiresAtMs)}`
      : `key ${entry.name} is disabled`
  },
  maintenance: (_decision, _lookup, { rejection }) => (rejection ? 'in maintenance' : 'no maintenance'),
  tenant: ({ caller: { entry } }) =>
    entry?.tenant ? `tenant ${entry.tenant.name} is ${entry.tenant.status}` : 'no tenant',
  body: () => 'a JSON object within the limit of size',
  ban: ({ caller: { entry }, publication, callOptions: { model } }, lookup) => {
    if (publication?.status === 'banned') return `publication ${model} is banned`
    const { tenant } = entry ?? {}
    if (!publication || !tenant?.isBanned(model)) return 'not banned'
    const patterns = patternsFor(model, 'tenant', tenant.name, 'banned_models', lookup)
    return `banned for tenant ${tenant.name} by ${patterns}`
  },
  listing: ({ publication, callOptions: { model } }) =>
    publication ? `publication ${model} is ${publication.status}` : `no publication ${model}`,
  models: ({ caller: { entry }, callOptions: { model } }, lookup) => {
    if (!entry) return 'the models of the key'
    const { name, tenant } = entry
    if (!entry.mayUse(model)) return `key ${name} may not use it`
    if (tenant && !tenant.mayUse(model)) return `tenant ${tenant.name} may not use it`
    const byKey = `key ${name} by ${patternsFor(model, 'key', name, 'models', lookup)}`
    if (!tenant) return byKey
    return `${byKey}, tenant ${tenant.name} by ${patternsFor(model, 'tenant', tenant.name, 'models', lookup)}`
  },
  protocol: ({ path, candidates }) => `${pluralize(candidates.length, 'endpoint')} for ${path.path}`,
  nodes: ({ candidates }) => {
    const nodes = candidates.flatMap(({ target }) => target.endpoint.node ?? [])
    return nodes.length === 0
      ? 'no node that fits is connected'
      : `connected: ${[...new Set(nodes)].toSorted().join(', ')}`
  },
  endpoints: ({ candidates }) => {
    const usable = candidates.filter(({ obstacle }) => obstacle === undefined).length
    return `${usable} of ${candidates.length} usable`
  },
  price: () => 'required by settings.require_price',
  ledger: (_decision, _lookup, { rejection }) =>
    rejection ? 'bills cannot be written' : 'bills can be written',
}

export function decisionToJson(decision: Decision, lookup: WhyLookup): DecisionJson {
  const { caller, callOptions, path, estimate, steps, candidates } = decision
  const { served, visible, rejection } = verdictToJson(decision, lookup)
  return {
    served,
    ...(caller.entry && { key: caller.entry.name }),
    ...(caller.entry?.tenant && { tenant: caller.entry.tenant.name }),
    model: callOptions.model,
    path: path.path as CallPath,
    visible,
    ...(rejection && { rejection }),
    ...(estimate && {
      estimate: {
        input_tokens: estimate.inputTokens,
        output_tokens: estimate.outputTokens,
        amount: formatNano(estimate.amountNano),
      },
    }),
    checks: steps.map(step => ({
      check: step.check,
      verdict: step.verdict,
      detail: detailOf(step, decision, lookup),
      ...(step.rejection && { rejection: rejectionToJson(step.rejection, hintOf(step, decision, lookup)) }),
      ...(step.report && { usage: usageToJson(step.report) }),
    })),
    candidates: candidates.map(candidateToJson),
  }
}

/** The verdict alone, for lists. */
export function verdictToJson(decision: Decision, lookup: WhyLookup) {
  const { rejected, path, visible } = decision
  return {
    visible,
    served: !rejected,
    path: path.path as CallPath,
    ...(rejected && {
      rejection: {
        check: rejected.check,
        ...rejectionToJson(rejected.rejection, hintOf(rejected, decision, lookup)),
      },
    }),
  }
}

function rejectionToJson({ code, message, retryAfterMs }: GwError, hint: string | undefined) {
  return {
    status: WIRE_ERRORS[code].status,
    code,
    message,
    ...(retryAfterMs !== undefined && { retry_after_seconds: retryAfterSeconds(retryAfterMs) }),
    ...(hint !== undefined && { hint }),
  }
}

function usageToJson({
  info,
  isShadow,
  usage: { limit, burst, used, held, needed, freshAtMs },
}: LimitReport) {
  const amountJson = (amount: number | bigint) => (typeof amount === 'bigint' ? formatNano(amount) : amount)
  return {
    unit: info.unit,
    ...(isShadow && { mode: 'shadow' as const }),
    ...(limit !== undefined && { limit: amountJson(limit) }),
    ...(burst !== undefined && { burst }),
    ...(used !== undefined && { used: amountJson(used) }),
    held: amountJson(held),
    needed: amountJson(needed),
    ...(freshAtMs !== undefined && { fresh_at: iso(freshAtMs) }),
  }
}

function candidateToJson({ target, health, obstacle, share }: Candidate): CandidateJson {
  const { endpoint, servedModel, priority, weight } = target
  const limit = endpoint.nodes?.maxConcurrency ?? endpoint.maxConcurrency
  return {
    endpoint: endpoint.name,
    ...(endpoint.node !== undefined && { node: endpoint.node }),
    served_model: servedModel,
    priority,
    weight,
    health: health.state,
    ...(health.state !== 'unknown' && { health_since: iso(health.sinceMs) }),
    ...(health.reason !== undefined && { reason: health.reason }),
    ...(obstacle && { obstacle }),
    in_flight: health.inFlight,
    ...(Number.isFinite(limit) && { max_concurrency: limit }),
    ...(health.cooldownUntilMs !== undefined && { cooldown_until: iso(health.cooldownUntilMs) }),
    ...(health.nextProbeMs !== undefined && { next_probe: iso(health.nextProbeMs) }),
    share,
  }
}

function detailOf(step: CheckResult, decision: Decision, lookup: WhyLookup): string {
  if (step.report) return detailOfLimit(step.report)
  return DETAILS[step.check](decision, lookup, step)
}

/** The limit and its owner; with the formula of a rate whose burst differs from its limit. */
function detailOfLimit({ info, of, isShadow, usage: { limit, burst } }: LimitReport): string {
  const title = `${info.title} of the ${of}${isShadow ? ', a shadow limit: it counts and rejects nothing' : ''}`
  if (limit === undefined || burst === undefined) return title
  return `${title}${isShadow ? '; ' : ': '}any t seconds admit at most ${burst} + ${limit} × t / 60`
}

function expiryOf(expiresAtMs: number): string {
  return Number.isFinite(expiresAtMs) ? `until ${iso(expiresAtMs)}` : 'which never expires'
}
