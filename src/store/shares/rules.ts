import type {
  DeclaredShare,
  ScopeTerms,
  ShareAnswer,
  SharedLimit,
  ShareRequest,
} from '../../schema/shares.ts'

/**
 * The rules of the grantor: pure functions of what it knows about one scope. Times are those of the store's clock. What
 * is spent is not known here: it is the ledger's sum, with every end that came before the request.
 *
 *     sum       spent + leased ≤ bound
 *     rate      used, draining, + leased ≤ bound      (all leased units count as if they were used now)
 *     permits   leased ≤ bound
 */
export interface ScopeState extends ScopeTerms {
  /** Of a rate: used units × 60,000; each millisecond drains `perMinute` of them. */
  readonly level: bigint
  readonly atMs: number
  /** The sum of all shares. */
  readonly leased: bigint
  /** How much an instance needed in vain: the others must return what they do not use. */
  readonly wanted: bigint
}

const MINUTE_MS = 60_000n

export function newScope(terms: ScopeTerms, nowMs: number): ScopeState {
  return { ...terms, level: 0n, atMs: nowMs, leased: 0n, wanted: 0n }
}

/** A scope that one gateway had for itself until now. */
export function declaredScope(
  { terms, amount, level }: Pick<DeclaredShare, 'terms' | 'amount' | 'level'>,
  nowMs: number,
): ScopeState {
  return { ...newScope(terms, nowMs), leased: amount, level }
}

/**
 * Drains a rate up to now. A clock that was set back drains nothing, and goes on from its new time: waiting for the old
 * time would block the rate for as long as the clock was set back.
 */
export function drained(scope: ScopeState, nowMs: number): ScopeState {
  if (scope.kind !== 'rate') return scope
  const elapsedMs = BigInt(Math.max(0, nowMs - scope.atMs))
  return { ...scope, level: atLeastZero(scope.level - elapsedMs * scope.perMinute), atMs: nowMs }
}

/** The start of the window that counts: the latest that has begun. The clock of an instance may be ahead, or have been. */
export function windowStart(knownMs: number, askedMs: number, nowMs: number): number {
  const latest = Math.max(knownMs, askedMs)
  return latest <= nowMs ? latest : Math.min(knownMs, askedMs)
}

/**
 * The newest revision counts, and the latest window. A changed rate keeps the time until its bucket is full, so that to
 * lower and raise a limit grants no burst.
 */
export function withTerms(scope: ScopeState, terms: ScopeTerms, nowMs: number): ScopeState {
  const sinceMs = windowStart(scope.sinceMs, terms.sinceMs, nowMs)
  if (terms.revision <= scope.revision) return { ...scope, sinceMs }
  const { bound, perMinute, revision } = terms
  const level = scope.perMinute > 0n ? dividedUp(scope.level * perMinute, scope.perMinute) : scope.level
  return { ...scope, bound, perMinute, revision, sinceMs, level }
}

/** Units without an owner. */
export function freeOf({ kind, bound, level, leased }: ScopeState, spent: bigint): bigint {
  if (kind === 'sum') return bound - spent - leased
  if (kind === 'rate') return bound - dividedUp(level, MINUTE_MS) - leased
  return bound - leased
}

/**
 * How much of the free units an instance gets: everything if it is alone; otherwise at most half of an even part, so
 * that the grants shrink with what is left, and the last units are given one call at a time.
 *
 * @param live The number of instances that are not fenced.
 */
export function grantOf(
  free: bigint,
  { least, most }: Pick<ShareRequest, 'least' | 'most'>,
  { live, wanted }: { readonly live: number; readonly wanted: bigint },
): bigint {
  if (most <= 0n || free <= 0n || free < least) return 0n
  // Another instance cannot go on without it; this one only expects calls.
  if (least <= 0n && wanted > 0n) return 0n
  if (live <= 1) return free
  const part = free / BigInt(2 * live)
  return smallest(free, largest(least, smallest(most, part)))
}

/** The effect of one request. @param amount The share so far. */
export function granted(
  before: ScopeState,
  amount: bigint,
  request: ShareRequest,
  { spent, live, nowMs }: { readonly spent: bigint; readonly live: number; readonly nowMs: number },
): { readonly scope: ScopeState; readonly amount: bigint; readonly answer: ShareAnswer } {
  const current = withTerms(drained(before, nowMs), request.terms, nowMs)
  // A charge may be larger than its hold, and so larger than the share.
  const ended = smallest(amount, request.used + request.returned)
  const kept = amount - ended
  const level =
    current.kind === 'rate'
      ? atLeastZero(current.level + (request.used + request.corrected) * MINUTE_MS)
      : current.level
  const reported = { ...current, level, leased: current.leased - ended }
  const free = freeOf(reported, spent)
  const grant = grantOf(free, request, { live, wanted: reported.wanted })
  const scope = {
    ...reported,
    leased: reported.leased + grant,
    wanted: wantedAfter(reported, request, free, grant),
  }
  const answer = {
    amount: kept + grant,
    granted: grant,
    free: free - grant,
    spent,
    leased: scope.leased,
    waitMs: waitOf(reported, request, free, grant),
  }
  return { scope, amount: kept + grant, answer }
}

/**
 * How much instances must return before a balance can be debited down to `balance`: they keep what they may spend.
 * 0: the debit takes nothing of that.
 */
export function wantedByDebit(
  { leased, wanted }: Pick<ScopeState, 'leased' | 'wanted'>,
  balance: bigint,
): bigint {
  return leased > balance ? largest(wanted, leased - balance) : 0n
}

/**
 * What all instances use of a scope, for a report. What they have and do not use is free: an instance that is alone has
 * everything.
 */
export function usageOf(before: ScopeState, spent: bigint, nowMs: number): Omit<SharedLimit, 'scope'> {
  const scope = { ...drained(before, nowMs), leased: 0n }
  const { kind, bound, perMinute, revision, sinceMs } = scope
  return { terms: { kind, bound, perMinute, revision, sinceMs }, free: freeOf(scope, spent), spent }
}

/** An answer without an effect: to a message that has had its effect already. */
export function repeated(scope: ScopeState, amount: bigint, spent: bigint): ShareAnswer {
  return {
    amount,
    granted: 0n,
    free: freeOf(scope, spent),
    spent,
    leased: scope.leased,
    waitMs: 0,
  }
}

/**
 * The rest of a fenced instance's share. Units of a rate count as used: nothing tells how many were. Others are free
 * again, except for those of holds that are still open.
 */
export function recovered(
  before: ScopeState,
  amount: bigint,
  heldAmount: bigint,
  nowMs: number,
): { readonly scope: ScopeState; readonly amount: bigint } {
  const scope = drained(before, nowMs)
  if (scope.kind === 'rate')
    return {
      scope: { ...scope, level: scope.level + amount * MINUTE_MS, leased: scope.leased - amount },
      amount: 0n,
    }
  const kept = smallest(amount, heldAmount)
  return { scope: { ...scope, leased: scope.leased - amount + kept }, amount: kept }
}

/**
 * An instance that got nothing recalls what others do not use; what they return, or its grant, ends that. So does a bound
 * that was lowered below what is leased.
 */
function wantedAfter(
  { wanted }: ScopeState,
  { least, returned }: ShareRequest,
  free: bigint,
  grant: bigint,
): bigint {
  const excess = atLeastZero(-free)
  if (least > 0n && grant > 0n) return excess
  if (least > 0n) return largest(wanted, least - free)
  return largest(excess, wanted - returned)
}

function waitOf(
  { kind, perMinute }: ScopeState,
  { least }: ShareRequest,
  free: bigint,
  grant: bigint,
): number {
  if (kind !== 'rate' || least <= 0n || grant > 0n || perMinute <= 0n) return 0
  return Number(dividedUp((least - free) * MINUTE_MS, perMinute))
}

function dividedUp(value: bigint, by: bigint): bigint {
  return (value + by - 1n) / by
}

function atLeastZero(value: bigint): bigint {
  return value > 0n ? value : 0n
}

function smallest(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}

function largest(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}
