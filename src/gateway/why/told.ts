import type { Reading } from '../../admission/limits.ts'
import { retryAfterSeconds } from '../../base/catalogue/retry-after.ts'
import { type GwError, WIRE_ERRORS } from '../../base/catalogue/wire.ts'
import { formatNano } from '../../base/decimal.ts'
import type { Candidate } from '../../routing/candidates.ts'
import type { OperationOf } from '../../schema/api/operations.ts'
import type { AnswerOf } from '../../schema/api/types.ts'
import type { CALL_PATHS } from '../../schema/api/why.ts'
import type { Background } from './background.ts'
import type { Decision } from './decide.ts'
import { detailOf } from './detail.ts'
import { mendOf } from './mend.ts'

/** What would be served to whom, and why not: in the words of REST and of `gw why --format json`. */
export type Explanation = AnswerOf<OperationOf<'explain'>>
export type ToldDecision = NonNullable<Explanation['decision']>
export type ToldStep = ToldDecision['checks'][number]
export type ToldCandidate = ToldDecision['candidates'][number]
type CallPath = (typeof CALL_PATHS)[number]

export function tellDecision(decision: Decision, background: Background): ToldDecision {
  const { bearer, wish, path, estimate, steps, candidates } = decision
  const { served, visible, refusal } = tellVerdict(decision, background)
  return {
    served,
    ...(bearer.entry && { key: bearer.entry.name }),
    ...(bearer.entry?.tenant && { tenant: bearer.entry.tenant.name }),
    model: wish.model,
    path: path.path as CallPath,
    visible,
    ...(refusal && { refusal }),
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
      detail: detailOf(step, decision, background),
      ...(step.refusal && { refusal: tellRefusal(step.refusal, mendOf(step, decision, background)) }),
      ...(step.reading && { figures: tellFigures(step.reading) }),
    })),
    candidates: candidates.map(tellCandidate),
  }
}

/** The verdict alone, for lists. */
export function tellVerdict(decision: Decision, background: Background) {
  const { refused, path, visible } = decision
  return {
    visible,
    served: !refused,
    path: path.path as CallPath,
    ...(refused && {
      refusal: {
        check: refused.check,
        ...tellRefusal(refused.refusal, mendOf(refused, decision, background)),
      },
    }),
  }
}

function tellRefusal({ code, message, retryAfterMs }: GwError, mend: string | undefined) {
  return {
    status: WIRE_ERRORS[code].status,
    code,
    message,
    ...(retryAfterMs !== undefined && { retry_after_seconds: retryAfterSeconds(retryAfterMs) }),
    ...(mend !== undefined && { mend }),
  }
}

const UNITS = {
  concurrency: 'requests',
  rpm: 'requests',
  tpm: 'tokens',
  quota: 'tokens',
  budget: 'money',
  balance: 'money',
} as const satisfies Record<Reading['name'], string>

function tellFigures({ name, figures: { limit, burst, used, held, needed, freshAtMs } }: Reading) {
  const told = (amount: number | bigint) => (typeof amount === 'bigint' ? formatNano(amount) : amount)
  return {
    unit: UNITS[name],
    ...(limit !== undefined && { limit: told(limit) }),
    ...(burst !== undefined && { burst }),
    ...(used !== undefined && { used: told(used) }),
    held: told(held),
    needed: told(needed),
    ...(freshAtMs !== undefined && { fresh_at: new Date(freshAtMs).toISOString() }),
  }
}

function tellCandidate({ target, health, obstacle, share }: Candidate): ToldCandidate {
  const { endpoint, servedModel, priority, weight } = target
  const time = (ms: number) => new Date(ms).toISOString()
  return {
    endpoint: endpoint.name,
    served_model: servedModel,
    priority,
    weight,
    health: health.state,
    ...(health.state !== 'unknown' && { health_since: time(health.sinceMs) }),
    ...(health.reason !== undefined && { reason: health.reason }),
    ...(obstacle && { obstacle }),
    in_flight: health.inFlight,
    ...(Number.isFinite(endpoint.maxConcurrency) && { max_concurrency: endpoint.maxConcurrency }),
    ...(health.restingUntilMs !== undefined && { resting_until: time(health.restingUntilMs) }),
    ...(health.nextTrialMs !== undefined && { next_trial: time(health.nextTrialMs) }),
    share,
  }
}
