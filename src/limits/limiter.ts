import type { Clock } from '../base/clock.ts'
import { IndexedSet } from '../base/indexed-set.ts'
import type { Protocol } from '../schema/protocol.ts'
import type { DeclaredShare, SharedLimit } from '../schema/shares.ts'
import type { KeyEntry, PublicationEntry, RateLimits, Snapshot } from '../snapshot/types.ts'
import { type Estimate, fitted, inputOnly } from './estimate.ts'
import type { LimitRequest } from './limit.ts'
import { type BalanceQuery, LimitStates } from './limit-states.ts'
import {
  assertShares,
  type CallKind,
  checkAll,
  checkName,
  type KeyLimits,
  type LimitReport,
  limitsFor,
  remainingFor,
  reportsOf,
  type TenantLimits,
  takeAll,
} from './limits.ts'
import { OutputEstimators } from './output-estimator.ts'
import { type RateHolder, rateLines } from './rate-headers.ts'
import { type LimiterCallbacks, Reservation } from './reservation.ts'
import type { ShareExchange } from './shares/share-exchange.ts'
import { ShareHolder } from './shares/share-holder.ts'

export interface Admission {
  readonly requestId: string
  readonly key: KeyEntry
  readonly publication: PublicationEntry
  readonly estimate: Estimate
  /** Of the snapshot that the request began with; needed if limits are shared. */
  readonly revision?: number | undefined
  /** Lifetime of the hold, after which the sweeper ends it: the total timeout and 60 s (spec/money.md §1). */
  readonly holdForMs: number
}

/** A call that is not made. */
export type InspectedCall = Pick<Admission, 'publication' | 'estimate'>

/** The usage of a key's strict limits, spent and held separately. Only for existing limits. */
export interface LimitStatus {
  readonly quota?: { readonly limit: number; readonly spent: number; readonly held: number }
  readonly budget?: { readonly limitNano: bigint; readonly spentNano: bigint; readonly heldNano: bigint }
  readonly balance?: { readonly balanceNano: bigint; readonly heldNano: bigint }
}

/** Limit of estimators, one for each key and model: about 400 bytes each. */
const MAX_OUTPUT_ESTIMATORS = 10_000

/**
 * All limits of one process, in memory; `limits.ts` has their list. Admission is atomic because there is no await between
 * the checks and the hold.
 *
 *     admit ──▶ check each limit, in order ──▶ take each ──▶ Reservation
 *                 │                                              │
 *               429 402, nothing was taken                      settle | release (ends the hold)
 *                                                               leave (ends the permit) · sweep (ends both, too late)
 */
export class Limiter {
  readonly #clock: Clock
  readonly #limitStates = new LimitStates()
  readonly #outputEstimators = new OutputEstimators(MAX_OUTPUT_ESTIMATORS)
  /** Reservations that have a hold or a permit. */
  readonly #open = new IndexedSet<Reservation>()
  readonly #callbacks: LimiterCallbacks
  #exchange: ShareExchange | undefined
  #openHolds = 0
  #currency = ''

  constructor(clock: Clock) {
    this.#clock = clock
    this.#callbacks = {
      nowMs: () => clock.nowMs(),
      tickMs: () => this.#tickMs(),
      holdEnded: () => {
        this.#openHolds--
      },
      closed: reservation => this.#open.delete(reservation),
    }
  }

  /** Number of open holds; the ledger has as many for this process (spec/money.md §5, invariant 4). */
  get openHolds(): number {
    return this.#openHolds
  }

  /** Number of reservations with an open hold or permit. */
  get openReservations(): number {
    return this.#open.size
  }

  /** Number of keys and tenants with a state. */
  get counted(): number {
    return this.#limitStates.size
  }

  /** Ids of the requests with an open hold. */
  heldRequests(): ReadonlySet<string> {
    return new Set([...this.#open].filter(({ isHeld }) => isHeld).map(({ hold }) => hold.requestId))
  }

  /** The total of all open holds. */
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

  /** The ledger query that must be answered before `snapshot` is served. */
  balanceQuery(snapshot: Snapshot): BalanceQuery {
    return this.#limitStates.balanceQuery(snapshot, this.#clock.nowMs())
  }

  /** The query for tenants whose balance another process changed. */
  walletQuery(tenants: readonly string[]): Pick<BalanceQuery, 'tenants' | 'answerBalances'> {
    return this.#limitStates.walletQuery(tenants)
  }

  /** `snapshot` is served from now on. Requests that began with an earlier one still use that one. */
  adopt(snapshot: Snapshot): void {
    this.#currency = snapshot.currency
    this.#limitStates.adopt(snapshot)
  }

  /** Whether limits are shared with other gateways: then a call may have to wait for more. */
  get isSharing(): boolean {
    return this.#limitStates.sharing.holder !== undefined
  }

  /**
   * Limits are shared with other gateways from now on.
   *
   * @returns what this gateway uses of them, which no other one may be granted.
   */
  share(exchange: ShareExchange): readonly DeclaredShare[] {
    this.#exchange = exchange
    this.#limitStates.sharing.holder = exchange.holder
    return [...this.#limitStates.inUse()].flatMap(
      ({ entry, limit }) => limit.declare(this.#emptyRequest(entry)) ?? [],
    )
  }

  /** Runs `admit`, which calls {@link admit} or {@link countTokens}, and again after each question to the grantor. */
  admitted<T>(admit: () => T): T | Promise<T> {
    return this.#exchange ? this.#exchange.admitted(admit) : admit()
  }

  /**
   * Reserves the needs of a request from every limit, or nothing. A free call needs no money: an exhausted budget or
   * balance does not reject it.
   *
   * @throws {GwError} rate_limit_concurrency, rate_limit_requests, rate_limit_tokens, quota_exceeded,
   *   budget_exceeded, insufficient_balance, with the limit and its numbers; unavailable if earlier spending is not
   *   loaded yet. {ShareShort} if it must ask for more of a limit first.
   */
  admit(admission: Admission): Reservation {
    const { requestId, key: entry, publication, estimate: wanted, holdForMs } = admission
    const empty = this.#emptyRequest(entry, admission.revision)
    const { nowMs, tickMs, revision } = empty
    const key = this.#limitStates.key(entry.account)
    const tenant = entry.tenant && this.#limitStates.tenant(entry.tenant.account)
    const estimate = wanted.cap ? fitted(wanted, remainingFor(empty, key, tenant)) : wanted
    const { inputTokens, outputTokens, amountNano } = estimate
    const isRated = entry.limits.tpm !== undefined || entry.tenant?.limits.tpm !== undefined
    const outputEstimator =
      isRated && outputTokens > 0 ? this.#outputEstimators.of(entry.account, publication.account) : undefined
    const ratedTokens =
      inputTokens + (outputEstimator ? Math.min(outputTokens, outputEstimator.capTokens) : outputTokens)
    const tokens = inputTokens + outputTokens
    const currency = this.#currency
    const request = { entry, tokens, ratedTokens, amountNano, nowMs, tickMs, currency, revision }
    const applying = limitsFor('inference', key, tenant)
    if (this.isSharing) assertShares(applying, request)
    const exceeded = checkAll(applying, request)
    const limits = takeAll(applying, request, exceeded)
    const balance = tenant?.balance
    const reservation = new Reservation(
      {
        requestId,
        openedAtMs: nowMs,
        deadlineMs: nowMs + holdForMs,
        amountNano,
        tokens,
        inputTokens: estimate.likelyInputTokens,
        inputAmountNano: estimate.likelyInputNano,
        // A share is covered.
        prepaid: entry.tenant?.billing === 'prepaid' && !this.isSharing,
      },
      tickMs + holdForMs,
      {
        limits,
        request,
        balance,
        balanceSettledNano: balance?.settledNano ?? 0n,
        outputEstimator,
        shadowRejections: exceeded?.map(checkName),
      },
      this.#callbacks,
      estimate.cap && outputTokens / estimate.cap.answers,
    )
    this.#openHolds++
    this.#open.add(reservation)
    return reservation
  }

  /**
   * Takes one request per minute for `count_tokens`, which has separate buckets of the same size.
   *
   * @returns the names of the shadow limits that would have rejected it; undefined: none.
   * @throws {GwError} rate_limit_requests
   */
  countTokens(entry: KeyEntry, revision?: number): readonly string[] | undefined {
    const key = this.#limitStates.key(entry.account)
    const tenant = entry.tenant && this.#limitStates.tenant(entry.tenant.account)
    const request = this.#emptyRequest(entry, revision)
    const applying = limitsFor('count', key, tenant)
    if (this.isSharing) assertShares(applying, request)
    const exceeded = checkAll(applying, request)
    takeAll(applying, request, exceeded)
    return exceeded?.map(checkName)
  }

  /**
   * Reports the usage and verdict of every limit for a request, in the order of their checks, also after the first
   * rejection. Takes nothing and stores no state.
   *
   * @param request Absent: a call of `count_tokens`.
   */
  inspect(entry: KeyEntry, request?: InspectedCall): readonly LimitReport[] {
    const key = this.#limitStates.lookUpKey(entry.account)
    const tenant = entry.tenant && this.#limitStates.lookUpTenant(entry.tenant.account)
    return reportsOf(
      limitsFor(request ? 'inference' : 'count', key, tenant),
      this.#reportRequest(entry, request, key, tenant),
    )
  }

  /**
   * Asks the grantor about the limits of a request, as the request itself would if it needed more: then {@link inspect} knows
   * what all gateways use. Takes nothing. Must be called for keys and tenants of the served snapshot only.
   *
   * @throws {GwError} unavailable if the grantor does not answer.
   */
  async refresh(entry: KeyEntry, call?: InspectedCall): Promise<void> {
    if (!this.#exchange) return
    const key = this.#limitStates.key(entry.account)
    const tenant = entry.tenant && this.#limitStates.tenant(entry.tenant.account)
    const request = { ...this.#reportRequest(entry, call, key, tenant), isReport: false }
    const limits = limitsFor(call ? 'inference' : 'count', key, tenant)
    await this.#exchange.refresh(limits.flatMap(limit => limit.part(request) ?? []))
  }

  /** For reports alone, in a process that admits nothing: what all gateways use of limits. */
  observe(limits: readonly SharedLimit[]): void {
    if (limits.length === 0) return
    const holder = new ShareHolder({ instance: '', leaseMs: undefined }, this.#tickMs())
    for (const { scope, terms, ...used } of limits) holder.share(scope, terms).observe(used)
    this.#limitStates.sharing.holder = holder
  }

  #reportRequest(
    entry: KeyEntry,
    call: InspectedCall | undefined,
    key: KeyLimits,
    tenant: TenantLimits | undefined,
  ): LimitRequest {
    const empty: LimitRequest = { ...this.#emptyRequest(entry), isReport: true }
    if (!call) return empty
    const { estimate } = call
    const { inputTokens, outputTokens, amountNano } = estimate.cap
      ? fitted(estimate, remainingFor(empty, key, tenant))
      : estimate
    const capTokens = this.#outputEstimators.capOf(entry.account, call.publication.account)
    return {
      ...empty,
      tokens: inputTokens + outputTokens,
      ratedTokens: inputTokens + Math.min(outputTokens, capTokens),
      amountNano,
    }
  }

  #emptyRequest(entry: KeyEntry, revision = this.#limitStates.servedRevision): LimitRequest {
    return {
      entry,
      tokens: 0,
      ratedTokens: 0,
      amountNano: 0n,
      nowMs: this.#clock.nowMs(),
      tickMs: this.#tickMs(),
      currency: this.#currency,
      revision,
    }
  }

  /**
   * The rate-limit headers of an answer, for the tighter limit of key and tenant; empty without a limit. Names and values
   * alternate.
   *
   * @param kind `count` for answers to `count_tokens`.
   */
  rateHeaders(protocol: Protocol, entry: KeyEntry, kind: CallKind = 'inference'): string[] {
    const { limits, shadow, tenant } = entry
    if (!isRated(limits) && !(tenant && isRated(tenant.limits))) return []
    const holders: RateHolder[] = [{ states: this.#limitStates.key(entry.account), limits, shadow }]
    if (tenant) {
      const { account, limits, shadow } = tenant
      holders.push({ states: this.#limitStates.tenant(account), limits, shadow })
    }
    return rateLines(protocol, kind, holders, this.#emptyRequest(entry))
  }

  /** The current status of a key's strict limits; omits limits that are not loaded yet. */
  limitStatus(entry: KeyEntry): LimitStatus {
    const { quota, budget } = this.#limitStates.key(entry.account)
    const request = this.#emptyRequest(entry)
    const { spentTokens: spent, heldTokens } = quota.usage(request)
    const { spentNano, heldNano } = budget.usage(request)
    const balance =
      entry.tenant?.billing === 'prepaid'
        ? this.#limitStates.tenant(entry.tenant.account).balance.usage(request)
        : undefined
    const balanceNano = balance?.balanceNano
    return {
      ...(entry.quotaTokens !== undefined &&
        spent !== undefined && { quota: { limit: entry.quotaTokens, spent, held: heldTokens } }),
      ...(entry.budget &&
        spentNano !== undefined && {
          budget: { limitNano: entry.budget.amountNano, spentNano, heldNano },
        }),
      ...(balance && balanceNano !== undefined && { balance: { balanceNano, heldNano: balance.heldNano } }),
    }
  }

  /**
   * Ends overdue reservations and charges their probable input. Must be called every few seconds.
   *
   * @returns the reservations whose hold it ended; the ledger ends its own holds when they are missing in
   * {@link heldRequests}.
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

  /** Deletes the states of removed keys and tenants, in steps. Must be run every few seconds. */
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
