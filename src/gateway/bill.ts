import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { checkPriced, type Permit } from '../limits/authorise.ts'
import type { Content } from '../limits/content.ts'
import { estimate, imagesOf, likelyImageTokens, PRODUCES } from '../limits/estimate.ts'
import type { Limiter } from '../limits/limiter.ts'
import type { Reservation } from '../limits/reservation.ts'
import { AnswerMeter } from '../metering/answer-meter.ts'
import { type Charge, chargeFor, type RequestEnd } from '../metering/charge.ts'
import {
  BalanceShort,
  type CallRecord,
  type Claim,
  type Hold,
  type HoldEnd,
  type Price,
  type RejectedCall,
  type StoredResponse,
  UndecidedHold,
  type Usage,
} from '../schema/ledger.ts'
import type { InferencePath } from '../schema/paths.ts'
import { priceAt } from '../snapshot/price-at.ts'
import type { PublicationEntry } from '../snapshot/types.ts'
import type { Route } from '../upstream/routing/route.ts'
import type { Call } from './call.ts'

/**
 * The ledger as the request path uses it; `server` passes the implementation of the store.
 *
 * Calls take effect in their order, across all callers.
 */
export interface LedgerPort {
  /** False while rows cannot be committed, or too many wait: billed routes answer 503 then. */
  readonly healthy: boolean
  /**
   * Opens a hold. Must be awaited before dispatch: every dispatched request has a row.
   * @returns the number of its row.
   * @throws {BalanceShort} if the hold is prepaid and the balance does not cover it. {GwError} unavailable if the row
   *   cannot be written. Nothing is held then.
   */
  open(hold: Hold): Promise<number>
  /**
   * Must be awaited before the first byte of an answer is sent: then no power cut loses its hold. Undefined if that is
   * so already.
   */
  durable(row: number): Promise<void> | undefined
  /**
   * Ends a hold, once: a second end is a no-op, and logged as an alarm if its amount differs. Must be awaited before the
   * last bytes of a complete answer are sent. If the disk is full, the end stays queued and resolves when space is free.
   */
  end(end: HoldEnd): Promise<void>
  /** Queues a line of the call log. Under pressure it is dropped, and counted. */
  log(record: CallRecord): void
  /** Keeps a sample of calls that were rejected before they were dispatched, in a log of its own. */
  logRejected(call: RejectedCall): void
  /**
   * The stored responses with these ids, in their order; undefined for an id that is unknown or expired. Sees each
   * settlement that was queued before.
   *
   * @param mayWait for the settlements that other gateways have not written to the store yet; by default it may.
   */
  stored(ids: readonly string[], mayWait?: boolean): Promise<readonly (StoredResponse | undefined)[]>
}

export interface BillPorts {
  readonly limiter: Limiter
  readonly ledger: LedgerPort
  readonly clock: Clock
  readonly log: Log
}

/** How long a hold may outlive the total timeout before a sweeper ends it (spec/money.md §1). */
const HOLD_GRACE_MS = 60_000

/** The request of a reservation. */
export interface ReservedRequest {
  readonly requestId: string
  /** Of the snapshot that it began with. */
  readonly revision: number | undefined
  /** Names of the shadow limits that would have rejected it. */
  shadowRejections: readonly string[] | undefined
}

/**
 * Reserves the request's share of every limit and creates its bill, which must be opened before dispatch.
 *
 * @returns undefined if the call is free of charge.
 * @throws {GwError} model_not_priced. The errors of {@link Limiter.admit}. Nothing is held or counted then.
 */
export function reserve(
  request: ReservedRequest,
  permit: Permit,
  call: Call,
  route: Route,
  { path, dialect }: InferencePath,
  content: Content,
  storedForMs: number | undefined,
  ports: BillPorts,
): Bill | undefined {
  const { key, publication } = permit
  if (!dialect) {
    request.shadowRejections = ports.limiter.countTokens(key, request.revision)
    return undefined
  }
  const { outputLimit, answers } = call
  // Chosen once, so that hold and bill use the same price even if another takes effect meanwhile.
  const dated = priceAt(publication, ports.clock.nowMs())
  const { maxInputTokens, maxOutputTokens, outputCap } = publication
  const isCapped = outputCap !== 'none'
  const produces = PRODUCES[dialect]
  const estimated = estimate(
    { content, produces, outputLimit, answers, isCapped },
    { price: dated?.price, maxInputTokens, maxOutputTokens },
  )
  checkPriced(publication, dated?.price, estimated.amountNano)
  const holdForMs = route.longestMs + HOLD_GRACE_MS
  const { requestId, revision } = request
  const admission = { requestId, key, publication, estimate: estimated, revision, holdForMs }
  const reservation = ports.limiter.admit(admission)
  request.shadowRejections = reservation.shadowRejections
  const claim = {
    requestId,
    attempt: 1,
    key: key.account,
    tenant: key.tenant?.account,
    publication: publication.account,
    endpoint: route.target.endpoint.account,
  }
  const { characters = 0, durationMs: { likely: durationMs } = { likely: 0 } } = content
  const images = imagesOf({ produces, answers })
  const inputUnits = characters + durationMs > 0 ? { durationMs, characters, images: 0 } : undefined
  const { capTokens } = reservation
  const { cap } = estimated
  const meter = new AnswerMeter(dialect, {
    inputTokens: estimated.likelyInputTokens,
    maxOutputTokens: outputLimit ? estimated.outputTokens : cap && capTokens && capTokens * cap.answers,
    characters,
    images,
    imageTokens: likelyImageTokens(images, estimated),
    durationMs,
  })
  const { onUpstreamError } = publication
  const logged = dialect === 'embeddings' ? undefined : { path, stream: call.stream }
  return new Bill(
    { claim, reservation, meter, onUpstreamError, ...dated, call: logged, storedForMs, inputUnits },
    ports,
  )
}

function storedIds(ids: readonly string[], { inputTokens, outputTokens }: Usage, expiresAtMs: number) {
  return { ids, tokens: inputTokens + outputTokens, outputTokens, expiresAtMs }
}

/** The end of a request; its bill knows the rest of {@link RequestEnd}. */
export type RequestFacts = Omit<RequestEnd, 'hasBegun' | 'usage' | 'onUpstreamError' | 'price'>

interface BillTerms {
  readonly claim: Claim
  readonly reservation: Reservation
  readonly meter: AnswerMeter
  readonly onUpstreamError: PublicationEntry['onUpstreamError']
  /** Absent: free, and counted as unpriced. */
  readonly price?: Price | undefined
  /** The price as stored in the ledger. */
  readonly text?: string | undefined
  /** See {@link Hold}. */
  readonly call: Hold['call'] | undefined
  /** How long the ids of the answer are known; absent: it is not stored. */
  readonly storedForMs: number | undefined
  readonly inputUnits: Hold['inputUnits']
}

/**
 * The money of one request: a hold that is opened before dispatch and ended exactly once, in the ledger and in the limits,
 * in one turn of the event loop (spec/money.md §1).
 *
 *     open ──▶ dispatch ──▶ end ──▶ chargeFor ──▶ settle: a charge     ┐
 *      │                                    └──▶ release: no charge   ├──▶ leave: after the last byte
 *     402 503: nothing is held                                        ┘
 */
export class Bill {
  readonly meter: AnswerMeter
  readonly #terms: BillTerms
  readonly #ports: BillPorts
  /** Of the current attempt: after a failover its endpoint differs from the hold's. */
  #claim: Claim
  #ended: Promise<void> | undefined
  #charge: Charge | undefined
  #row = 0

  constructor(terms: BillTerms, ports: BillPorts) {
    this.meter = terms.meter
    this.#terms = terms
    this.#ports = ports
    this.#claim = terms.claim
  }

  /** Sets the endpoint after a failover. The hold stays valid, because the price belongs to the publication. */
  servedBy(endpoint: string): void {
    this.#claim = { ...this.#claim, endpoint }
  }

  /** The accounts of the current attempt. */
  get claim(): Claim {
    return this.#claim
  }

  /** The charge, once the bill has ended with one. */
  get charge(): Charge | undefined {
    return this.#charge
  }

  /** The output limit to add to a request that has none, if the operator configured one. */
  get capTokens(): number | undefined {
    return this.#terms.reservation.capTokens
  }

  /**
   * @throws {GwError} unavailable if the ledger cannot write the hold; insufficient_balance if another process has debited
   *   the balance. Nothing is held or counted then, or soon.
   */
  async open(): Promise<void> {
    const { reservation } = this.#terms
    try {
      this.#row = await this.#ports.ledger.open(this.#hold())
    } catch (error) {
      this.#ended = Promise.resolve()
      if (error instanceof BalanceShort) throw reservation.uncovered(error)
      if (error instanceof UndecidedHold) void error.decided.then(() => reservation.withdraw())
      else reservation.withdraw()
      throw error
    }
  }

  /** Resolves when no power cut can lose the hold any more; undefined if that is so already. */
  durable(): Promise<void> | undefined {
    return this.#ports.ledger.durable(this.#row)
  }

  /** Field by field: spreading two objects creates another hidden class, which slows down all readers. */
  #hold(): Hold {
    const { reservation, call, text, inputUnits } = this.#terms
    const { requestId, attempt, key, tenant, publication, endpoint } = this.#claim
    const { openedAtMs, deadlineMs, amountNano, tokens, inputTokens, inputAmountNano, prepaid } =
      reservation.hold
    return {
      requestId,
      attempt,
      key,
      tenant,
      publication,
      endpoint,
      openedAtMs,
      deadlineMs,
      amountNano,
      tokens,
      inputTokens,
      inputAmountNano,
      inputUnits,
      prepaid,
      call,
      price: text,
    }
  }

  /**
   * Charges or releases the hold. Resolves when that is committed; a repeated call returns the first promise.
   *
   * Limits and ledger are updated in the same turn: a ledger query between them would count the bill twice.
   */
  end(end: RequestFacts): Promise<void> {
    if (this.#ended) return this.#ended
    const { reservation, meter, onUpstreamError, price } = this.#terms
    const { charge, reason } = chargeFor({
      outcome: end.outcome,
      errorCode: end.errorCode,
      status: end.status,
      wasSent: end.wasSent,
      hasBegun: meter.hasBegun,
      clientLeft: end.clientLeft,
      usage: meter.measured(),
      onUpstreamError,
      price,
    })
    const endedAtMs = this.#ports.clock.nowMs()
    const { ledger } = this.#ports
    // False if the hold was overdue: then the sweeper has ended it.
    const isOurs = charge
      ? reservation.settle(charge.usage, charge.amountNano, endedAtMs)
      : reservation.release()
    if (!isOurs) this.#ended = Promise.resolve()
    else if (charge) {
      this.#charge = charge
      this.#ended = ledger.end(this.#settlement(charge, endedAtMs))
    } else this.#ended = ledger.end({ ...this.#claim, kind: 'release', endedAtMs, reason })
    return this.#ended
  }

  /** Field by field, like {@link #hold}. */
  #settlement({ usage, amountNano, flags }: Charge, endedAtMs: number): HoldEnd {
    const { storedForMs, meter } = this.#terms
    const ids = storedForMs === undefined ? undefined : meter.storedIds
    const stored = ids && storedIds(ids, usage, endedAtMs + (storedForMs ?? 0))
    const { requestId, attempt, key, tenant, publication, endpoint } = this.#claim
    return {
      kind: 'settle',
      requestId,
      attempt,
      key,
      tenant,
      publication,
      endpoint,
      endedAtMs,
      amountNano,
      usage,
      flags,
      stored,
    }
  }

  /** Releases the permit, after the last byte. */
  leave(): void {
    this.#terms.reservation.leave()
  }
}
