import { GwError } from '../base/catalogue/wire.ts'
import type { KeyEntry } from '../snapshot/types.ts'
import { Balance } from './balance.ts'
import { Budget } from './budget.ts'
import { Calendar } from './calendar.ts'
import { Concurrency } from './concurrency.ts'
import type { Remaining } from './estimate.ts'
import {
  type Limit,
  type LimitInfo,
  type LimitRequest,
  type LimitUsage,
  type Owner,
  shadowLimitsOf,
} from './limit.ts'
import { Quota } from './quota.ts'
import { countsPerMinute, requestsPerMinute } from './requests-per-minute.ts'
import { ALONE, type Part, type Sharing } from './shares/limit-shares.ts'
import { ShareShort } from './shares/share-exchange.ts'
import { tokensPerMinute } from './tokens-per-minute.ts'

/**
 * All limits, in the order of their checks; a limit of both is checked for the key, then for its tenant. The first
 * rejection is the answer. A new limit is a file and a line here.
 */
const LIMITS = {
  concurrency: {
    of: ['key', 'tenant'],
    calls: 'inference',
    create: (owner: Owner, sharing: Sharing) => new Concurrency(owner, sharing),
  },
  requests: { of: ['key', 'tenant'], calls: 'inference', create: requestsPerMinute },
  counts: { of: ['key', 'tenant'], calls: 'count', create: countsPerMinute },
  tokens: { of: ['key', 'tenant'], calls: 'inference', create: tokensPerMinute },
  quota: {
    of: ['key'],
    calls: 'inference',
    create: (owner: Owner, sharing: Sharing) => new Quota(owner, sharing),
  },
  budget: {
    of: ['key'],
    calls: 'inference',
    create: (owner: Owner, sharing: Sharing, calendar: Calendar) => new Budget(owner, sharing, calendar),
  },
  balance: {
    of: ['tenant'],
    calls: 'inference',
    create: (owner: Owner, sharing: Sharing) => new Balance(owner, sharing),
  },
} as const satisfies Record<
  string,
  {
    of: readonly Owner['kind'][]
    calls: CallKind
    create: (owner: Owner, sharing: Sharing, calendar: Calendar) => Limit
  }
>

/** `count_tokens` has limits of its own. */
export type CallKind = 'inference' | 'count'

type Limits = typeof LIMITS
/** The limits of an owner, with their states. */
type LimitsOf<Kind extends Owner['kind']> = {
  readonly [name in keyof Limits as Kind extends Limits[name]['of'][number] ? name : never]: ReturnType<
    Limits[name]['create']
  >
}
export type KeyLimits = LimitsOf<'key'>
export type TenantLimits = LimitsOf<'tenant'>

/** @param calendar One for all: a calendar of a zone takes 46 KiB. */
export function createLimits<Kind extends Owner['kind']>(
  kind: Kind,
  account: string,
  sharing: Sharing = ALONE,
  calendar: Calendar = new Calendar(),
): LimitsOf<Kind> {
  const owner = { kind, account }
  const entries = Object.entries(LIMITS).filter(([, { of }]) => (of as readonly string[]).includes(kind))
  return Object.fromEntries(
    entries.map(([limit, { create }]) => [limit, create(owner, sharing, calendar)]),
  ) as LimitsOf<Kind>
}

/** The order of the checks, by kind of call. */
const ORDER: Readonly<Record<CallKind, readonly { name: keyof Limits; of: Owner['kind'] }[]>> = {
  inference: orderOf('inference'),
  count: orderOf('count'),
}

function orderOf(kind: CallKind) {
  return Object.entries(LIMITS).flatMap(([name, { of, calls }]) =>
    calls === kind ? of.map(owner => ({ name: name as keyof Limits, of: owner })) : [],
  )
}

/** The limits that apply to a request, in the order of their checks. */
export function limitsFor(
  calls: CallKind,
  key: KeyLimits,
  tenant: TenantLimits | undefined,
): readonly Limit[] {
  const limits: Limit[] = []
  for (const { name, of } of ORDER[calls]) {
    const limit = of === 'key' ? key[name as keyof KeyLimits] : tenant?.[name as keyof TenantLimits]
    if (limit) limits.push(limit)
  }
  return limits
}

/**
 * Checks all limits in order. Each shadow limit is judged as if it alone were enforced.
 *
 * @returns the shadow limits that would reject the request; undefined: none, at no cost for owners without such limits.
 * @throws {GwError} of the first limit that rejects.
 */
export function checkAll(limits: readonly Limit[], request: LimitRequest): readonly Limit[] | undefined {
  const { shadow, tenant } = request.entry
  return shadow || tenant?.shadow ? checkWithShadow(limits, request) : checkEach(limits, request)
}

/**
 * Where gateways share limits: makes sure that the shares suffice for a request, or are known not to. Shadow limits need
 * theirs as well, but no request waits for what other gateways may return of them.
 *
 * @throws {GwError} of the first limit that rejects. {ShareShort} with the parts that are short, which have to be asked
 *   for.
 */
export function assertShares(limits: readonly Limit[], request: LimitRequest): void {
  const short: Part[] = []
  for (const limit of limits) {
    const part = limit.part(request)
    if (!part || part.units === 0n || part.share.fits(part.units)) continue
    const inShadow = isShadow(limit, request.entry)
    if (inShadow && part.share.last && !part.share.mayFit(part.units)) part.share.need(part.units)
    else if (!part.share.isExhausted(part.units, request.tickMs)) short.push(part)
    else if (!inShadow) throw limit.error(request)
  }
  if (short.length > 0) throw new ShareShort(short)
}

/**
 * Takes the share of a request, after {@link checkAll} at the same time. Nothing throws, so that all limits are debited
 * or none. An exceeded shadow limit takes nothing, as if it had rejected the request, unless it counts spending.
 *
 * @returns the limits that it was taken from.
 */
export function takeAll(
  limits: readonly Limit[],
  request: LimitRequest,
  exceeded: readonly Limit[] | undefined,
): readonly Limit[] {
  const taken = exceeded ? limits.filter(limit => limit.isSpending || !exceeded.includes(limit)) : limits
  for (const limit of taken) limit.take(request)
  return taken
}

function checkEach(limits: readonly Limit[], request: LimitRequest): undefined {
  for (const limit of limits) limit.check(request)
}

function checkWithShadow(limits: readonly Limit[], request: LimitRequest): readonly Limit[] | undefined {
  const exceeded: Limit[] = []
  for (const limit of limits) {
    if (!isShadow(limit, request.entry)) limit.check(request)
    else if (limit.isExceededBy(request)) exceeded.push(limit)
  }
  return exceeded.length > 0 ? exceeded : undefined
}

function isShadow({ owner, info }: Limit, entry: KeyEntry): boolean {
  return shadowLimitsOf(owner, entry)?.has(info.name) ?? false
}

/** The name of a limit's check, such as `key_rpm`. */
export function checkName({ owner, info }: Limit): string {
  return `${owner.kind}_${info.name}`
}

/** The usage and verdict of one limit for one request. */
export interface LimitReport {
  readonly info: LimitInfo
  readonly heldUntil: Limit['heldUntil']
  readonly of: Owner['kind']
  readonly usage: LimitUsage
  /** It counts and rejects nothing. */
  readonly isShadow: boolean
  /** Present if the limit rejects the request, or would reject it if it were enforced. */
  readonly rejection?: GwError
}

/** Reports of all limits that are set, in their order, also after the first rejection. */
export function reportsOf(limits: readonly Limit[], request: LimitRequest): readonly LimitReport[] {
  return limits.flatMap(limit => {
    const usage = limit.report(request)
    if (!usage) return []
    const inShadow = isShadow(limit, request.entry)
    const rejection = inShadow
      ? limit.isExceededBy(request) && limit.error(request)
      : rejectionOf(() => limit.check(request))
    const { info, heldUntil, owner } = limit
    return { info, heldUntil, of: owner.kind, usage, isShadow: inShadow, ...(rejection && { rejection }) }
  })
}

/** The remainder of the strict limits; ignores a limit that is not loaded yet, and one in shadow mode. */
export function remainingFor(
  request: LimitRequest,
  { quota, budget }: KeyLimits,
  tenant: TenantLimits | undefined,
): Remaining {
  const { quotaTokens: limit, budget: limitTerms, shadow, tenant: tenantEntry } = request.entry
  const quotaTokens = shadow?.has('quota') ? undefined : limit
  const terms = shadow?.has('budget') ? undefined : limitTerms
  const { spentTokens, heldTokens } = quota.usage(request)
  const tokens =
    quotaTokens === undefined || spentTokens === undefined
      ? Number.POSITIVE_INFINITY
      : quotaTokens - spentTokens - heldTokens
  const { spentNano, heldNano } = budget.usage(request)
  const ofBudget = terms && spentNano !== undefined && terms.amountNano - spentNano - heldNano
  const balance = tenantEntry?.billing === 'prepaid' ? tenant?.balance.usage(request) : undefined
  const ofBalance = balance?.balanceNano !== undefined && balance.balanceNano - balance.heldNano
  const amounts = [ofBudget, ofBalance].filter(amount => typeof amount === 'bigint')
  const nano = amounts.reduce<bigint | undefined>(
    (least, amount) => (least === undefined || amount < least ? amount : least),
    undefined,
  )
  return { tokens, nano }
}

/** The error that a check throws, or undefined if it passes. */
export function rejectionOf(check: () => void): GwError | undefined {
  try {
    check()
    return undefined
  } catch (error) {
    if (error instanceof GwError) return error
    throw error
  }
}
