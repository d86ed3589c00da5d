import type { Clock } from '../base/clock.ts'
import type { Permit } from '../limits/authorise.ts'
import { checkPriced } from '../limits/authorise.ts'
import { measureContent } from '../limits/content.ts'
import { estimate, PRODUCES } from '../limits/estimate.ts'
import type { Limiter } from '../limits/limiter.ts'
import type { Reservation } from '../limits/reservation.ts'
import { AnswerMeter } from '../metering/answer-meter.ts'
import { Bill } from '../metering/bill.ts'
import type { LedgerPort } from '../metering/ledger-port.ts'
import type { InferencePath } from '../schema/paths.ts'
import { priceAt } from '../snapshot/price-at.ts'
import type { Route } from '../upstream/routing/route.ts'
import type { Call } from './call.ts'

export interface AccountPorts {
  readonly limiter: Limiter
  readonly ledger: LedgerPort
  readonly clock: Clock
}

/** The reservation, meter and bill of one request, from admission to its last byte. */
export class Account {
  /** Ends the hold, once. Absent if the call is free of charge. */
  readonly bill: Bill | undefined
  readonly meter: AnswerMeter | undefined
  readonly #reservation: Reservation | undefined

  constructor(bill?: Bill, meter?: AnswerMeter, reservation?: Reservation) {
    this.bill = bill
    this.meter = meter
    this.#reservation = reservation
  }

  /** The output limit to add to a request that has none, if the operator configured one. */
  get capTokens(): number | undefined {
    return this.#reservation?.capTokens
  }

  /** Releases the reservation, after the last byte. */
  leave(): void {
    this.#reservation?.leave()
  }
}

/** How long a hold may outlive the total timeout before a sweeper ends it (spec/money.md §1). */
const HOLD_GRACE_MS = 60_000

/**
 * Reserves the request's share of every limit and creates its bill. The request may be dispatched once the bill is open.
 *
 * @throws {GwError} model_not_priced, and the errors of {@link Limiter.admit}. Nothing is held or counted then.
 */
export function openAccount(
  requestId: string,
  permit: Permit,
  call: Call,
  route: Route,
  { path, dialect }: InferencePath,
  ports: AccountPorts,
): Account {
  const { key, publication } = permit
  if (!dialect) {
    ports.limiter.countTokens(key)
    return new Account()
  }
  const content = measureContent(call, dialect === 'anthropic_messages' ? 'anthropic' : 'openai')
  const { maxTokens, maxCompletionTokens, n } = call
  // Chosen once, so that hold and bill use the same price even if another takes effect meanwhile.
  const dated = priceAt(publication, ports.clock.nowMs())
  checkPriced(publication, dated !== undefined)
  const { maxInputTokens, maxOutputTokens, outputCap } = publication
  const isCapped = outputCap !== 'none'
  const estimated = estimate(
    { content, produces: PRODUCES[dialect], maxTokens, maxCompletionTokens, n, isCapped },
    { price: dated?.price, maxInputTokens, maxOutputTokens },
  )
  const reservation = ports.limiter.admit({
    requestId,
    key,
    publication,
    estimate: estimated,
    holdForMs: route.longestMs + HOLD_GRACE_MS,
  })
  const meter = new AnswerMeter(dialect, estimated.likelyInputTokens)
  const bill = new Bill({
    claim: {
      requestId,
      attempt: 1,
      key: key.account,
      tenant: key.tenant?.account,
      publication: publication.account,
      endpoint: route.target.endpoint.account,
    },
    held: reservation,
    call: dialect === 'embeddings' ? undefined : { path, stream: call.stream },
    price: dated?.price,
    priceText: dated?.text,
    meter,
    ledger: ports.ledger,
    clock: ports.clock,
  })
  return new Account(bill, meter, reservation)
}
