import type { Clock } from '../base/clock.ts'
import { IndexedSet } from '../base/indexed-set.ts'
import type { Protocol } from '../schema/endpoint.ts'
import type { KeyEntry, PublicationEntry, RateLimits, Snapshot } from '../snapshot/types.ts'
import { takeRates } from './checks.ts'
import { type Estimate, fitted, inputOnly } from './estimate.ts'
import { type BalanceQuery, type KeyLimitState, LimitStates, type TenantLimitState } from './limit-states.ts'
import {
  COUNT_LIMITS,
  INFERENCE_LIMITS,
  type LimitReport,
  type LimitRequest,
  readAll,
  remainingFor,
} from './limits.ts'
import { OutputEstimators } from './output-estimator.ts'
import { rateLines } from './rate-headers.ts'
import { type LimiterCallbacks, Reservation } from './reservation.ts'

export interface Admission {
  readonly requestId: string
  readonly key: KeyEntry
  readonly publication: PublicationEntry
  readonly estimate: Estimate
  /** After so long the sweeper ends what has not ended: the total timeout and 60 s (spec/money.md §1). */
  readonly holdForMs: number
}

/** Where a key stands with its strict limits: spent and held apart. Only of limits that there are. */
export interface LimitStatus {
  readonly quota?: { readonly limit: number; readonly spent: number; readonly held: number }
  readonly budget?: { readonly limitNano: bigint; readonly spentNano: bigint; readonly heldNano: bigint }
  readonly balance?: { readonly balanceNano: bigint; readonly heldNano: bigint }
}

/** Keys and models whose answers are remembered: some 400 bytes each. */
const MAX_OUTPUT_ESTIMATORS = 10_000

/**
 * Every limit of one process, in memory, decided without an await: between the check and the hold nothing else
 * can happen, and that is what makes admission atomic.
 *
 *     admit ──▶ permits ──▶ RPM ──▶ TPM ──▶ quota ──▶ budget ──▶ balance ──▶ take all ──▶ Reservation
 *                 │          │       │        │          │          │
 *                429        429     429      429        429        402        nothing was taken
 *
 *     Reservation ──▶ settle | release (ends the hold) · leave (ends the permit) · sweep (ends both, too late)
 *
 * Each of the first three is asked of the key, then of its tenant.
 */
export class Limiter {
  readonly #clock: Clock
  readonly #limitStates = new LimitStates()
  readonly #outputEstimators = new OutputEstimators(MAX_OUTPUT_ESTIMATORS)
  /** Those that have a hold or a permit. */
  readonly #open = new IndexedSet<Reservation>()
  readonly #callbacks: LimiterCallbacks
  #openHolds = 0
  #currency = ''

  constructor(clock: Clock) {
    this.#clock = clock
    this.#callbacks = {
      nowMs: () => clock.nowMs(),
      tickMs: () => this.#tickMs(),
      currency: () => this.#currency,
      holdEnded: () => {
        this.#openHolds--
      },
      closed: reservation => this.#open.delete(reservation),
    }
  }

  /** Holds that have not ended; the ledger has as many open for this process (spec/money.md §5, invariant 4). */
  get openHolds(): number {
    return this.#openHolds
  }

  /** Permits and holds that have not been given back. */
  get openReservations(): number {
    return this.#open.size
  }

  /** Keys and tenants that something is remembered of. */
  get counted(): number {
    return this.#limitStates.size
  }

  /** The requests whose holds have not ended, as of now. */
  heldRequests(): ReadonlySet<string> {
    return new Set([...this.#open].filter(({ isHeld }) => isHeld).map(({ hold }) => hold.requestId))
  }

  /** What open holds have taken, all together. */
  held(): { readonly count: number; readonly tokens: number; readonly amountNano: bigint } {
    let tokens = 0
    let amountNano = 0n
    for (const { isHeld, hold } of this.#open) {
      if (!isHeld) continue
      tokens += hold.tokens
      amountNano += hold.amountNano
    }
    return { count: this.#openHolds, tokens, amountNano }
  }

  /** What the ledger must be asked before `snapshot` is served. See {@link BalanceQuery}. */
  balanceQuery(snapshot: Snapshot): BalanceQuery {
    return this.#limitStates.balanceQuery(snapshot, this.#clock.nowMs())
  }

  /** The same for tenants whose balance was credited or debited elsewhere. */
  walletQuery(tenants: readonly string[]): Pick<BalanceQuery, 'tenants' | 'answerBalances'> {
    return this.#limitStates.walletQuery(tenants)
  }

  /** `snapshot` is served from now on. Requests that began with an earlier one may still be admitted by it. */
  adopt(snapshot: Snapshot): void {
    this.#currency = snapshot.currency
    this.#limitStates.adopt(snapshot)
  }

  /**
   * Takes what a request needs of every limit, or takes nothing. A call that is free needs no money: a budget or a
   * balance that is spent does not reject it.
   *
   * @throws {GwError} rate_limit_concurrency, rate_limit_requests, rate_limit_tokens, quota_exceeded,
   *   budget_exceeded, insufficient_balance, with the limit and its numbers; unavailable, where what was spent
   *   before is not known yet.
   */
  admit({ requestId, key: entry, publication, estimate: wanted, holdForMs }: Admission): Reservation {
    const nowMs = this.#clock.nowMs()
    const tickMs = this.#tickMs()
    const key = this.#limitStates.key(entry.account)
    const tenant = entry.tenant && this.#limitStates.tenant(entry.tenant.account)
    const { limits } = entry
    const estimate = wanted.cap ? fitted(wanted, remainingFor(entry, key, tenant, nowMs)) : wanted
    const tenantLimits = entry.tenant?.limits
    const { inputTokens, outputTokens, amountNano } = estimate
    const rated = limits.tpm !== undefined || tenantLimits?.tpm !== undefined
    const outputEstimator =
      rated && outputTokens > 0 ? this.#outputEstimators.of(entry.account, publication.account) : undefined
    const ratedTokens =
      inputTokens + (outputEstimator ? Math.min(outputTokens, outputEstimator.capTokens) : outputTokens)
    const tokens = inputTokens + outputTokens
    const prepaid = entry.tenant?.billing === 'prepaid'
    const currency = this.#currency
    const limitRequest = { entry, key, tenant, tokens, ratedTokens, amountNano, nowMs, tickMs, currency }
    for (const limit of INFERENCE_LIMITS) limit.check(limitRequest)

    // From here on nothing rejects: what is taken of one limit is taken of all.
    takeRates(key.rates, limits, ratedTokens)
    if (tenant && tenantLimits) takeRates(tenant.rates, tenantLimits, ratedTokens)
    key.account.hold(tokens, amountNano)
    tenant?.wallet.hold(amountNano)
    const reservation = new Reservation(
      {
        requestId,
        openedAtMs: nowMs,
        deadlineMs: nowMs + holdForMs,
        amountNano,
        tokens,
        inputTokens: estimate.likelyInputTokens,
        inputAmountNano: estimate.likelyInputNano,
        prepaid,
      },
      tickMs + holdForMs,
      {
        key: key.rates,
        account: key.account,
        tenant: tenant?.rates,
        wallet: tenant?.wallet,
        walletSettledNano: tenant?.wallet.settledNano ?? 0n,
        keyCounted: limits.rpm !== undefined,
        tenantCounted: tenantLimits?.rpm !== undefined,
        keyRated: limits.tpm !== undefined,
        tenantRated: tenantLimits?.tpm !== undefined,
        outputEstimator,
        ratedTokens,
      },
      this.#callbacks,
      estimate.cap && outputTokens / estimate.cap.answers,
    )
    this.#openHolds++
    this.#open.add(reservation)
    return reservation
  }

  /**
   * Takes one of the requests per minute for `count_tokens`, which have buckets of their own, of the same size.
   *
   * @throws {GwError} rate_limit_requests
   */
  countTokens(entry: KeyEntry): void {
    const { account, limits, tenant: tenantEntry } = entry
    const key = this.#limitStates.key(account)
    const tenant = tenantEntry && this.#limitStates.tenant(tenantEntry.account)
    const limitRequest = this.#nothingAskedOf(entry, key, tenant)
    for (const limit of COUNT_LIMITS) limit.check(limitRequest)
    if (limits.rpm !== undefined) key.rates.counts.take(1)
    if (tenant && tenantEntry.limits.rpm !== undefined) tenant.rates.counts.take(1)
  }

  /**
   * What every limit would say to a request now, in the order in which they reject, each with its numbers: also those
   * behind the first that rejects. Takes nothing, and remembers nobody for having been asked about.
   *
   * @param request Absent: a call of `count_tokens`.
   */
  inspect(entry: KeyEntry, request?: Pick<Admission, 'publication' | 'estimate'>): readonly LimitReport[] {
    const key = this.#limitStates.lookUpKey(entry.account)
    const tenant = entry.tenant && this.#limitStates.lookUpTenant(entry.tenant.account)
    const limitRequest = this.#nothingAskedOf(entry, key, tenant)
    if (!request) return readAll(COUNT_LIMITS, limitRequest)
    const { estimate } = request
    const { inputTokens, outputTokens, amountNano } = estimate.cap
      ? fitted(estimate, remainingFor(entry, key, tenant, limitRequest.nowMs))
      : estimate
    const capTokens = this.#outputEstimators.capOf(entry.account, request.publication.account)
    return readAll(INFERENCE_LIMITS, {
      ...limitRequest,
      tokens: inputTokens + outputTokens,
      ratedTokens: inputTokens + Math.min(outputTokens, capTokens),
      amountNano,
    })
  }

  #nothingAskedOf(entry: KeyEntry, key: KeyLimitState, tenant: TenantLimitState | undefined): LimitRequest {
    const [nowMs, tickMs, currency] = [this.#clock.nowMs(), this.#tickMs(), this.#currency]
    return { entry, key, tenant, tokens: 0, ratedTokens: 0, amountNano: 0n, nowMs, tickMs, currency }
  }

  /**
   * What an answer tells its client of its rates: names and values in turn, the tightest of key and tenant, nothing
   * where there is no limit.
   *
   * @param kind `count` for answers to `count_tokens`.
   */
  rateHeaders(protocol: Protocol, entry: KeyEntry, kind: 'inference' | 'count' = 'inference'): string[] {
    const { limits, tenant } = entry
    if (!isRated(limits) && !(tenant && isRated(tenant.limits))) return []
    const holders = [{ rates: this.#limitStates.key(entry.account).rates, limits }]
    if (tenant) holders.push({ rates: this.#limitStates.tenant(tenant.account).rates, limits: tenant.limits })
    return rateLines(protocol, kind, holders, { tickMs: this.#tickMs(), nowMs: this.#clock.nowMs() })
  }

  /** Where a key stands now; what is not loaded yet is left out. */
  limitStatus(entry: KeyEntry): LimitStatus {
    const { account } = this.#limitStates.key(entry.account)
    const spent = entry.quotaTokens === undefined ? undefined : account.spentTokens()
    const spentNano = entry.budget && account.spentNano(entry.budget, this.#clock.nowMs())
    const wallet =
      entry.tenant?.billing === 'prepaid' ? this.#limitStates.tenant(entry.tenant.account).wallet : undefined
    const balanceNano = wallet?.balanceNano
    return {
      ...(entry.quotaTokens !== undefined &&
        spent !== undefined && { quota: { limit: entry.quotaTokens, spent, held: account.heldTokens } }),
      ...(entry.budget &&
        spentNano !== undefined && {
          budget: { limitNano: entry.budget.amountNano, spentNano, heldNano: account.heldNano },
        }),
      ...(wallet && balanceNano !== undefined && { balance: { balanceNano, heldNano: wallet.heldNano } }),
    }
  }

  /**
   * Ends what is past its deadline, charging what its input alone probably cost. To be called every few seconds.
   *
   * @returns the reservations whose hold it ended; the ledger, which no longer finds them among
   * {@link heldRequests}, ends theirs by itself.
   */
  sweep(): Reservation[] {
    const tickMs = this.#tickMs()
    const swept: Reservation[] = []
    for (const reservation of this.#open) {
      if (!reservation.isOverdue(tickMs)) continue
      reservation.leave()
      if (reservation.settle(inputOnly(reservation.hold.inputTokens), reservation.hold.inputAmountNano))
        swept.push(reservation)
    }
    return swept
  }

  /** Forgets keys and tenants that are gone, in steps that may be rested between. To be run every few seconds. */
  forgetting(): Generator<undefined, void> {
    return this.#limitStates.forgetting(this.#tickMs())
  }

  #tickMs(): number {
    return Math.floor(this.#clock.monotonicMs())
  }
}

function isRated({ rpm, tpm }: RateLimits): boolean {
  return rpm !== undefined || tpm !== undefined
}
