import type { ServerResponse } from 'node:http'
import { GwError } from '../base/catalogue/wire.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { AnswerEnding } from '../metering/answer-meter.ts'
import type { Bill } from '../metering/bill.ts'
import type { InferencePath } from '../schema/paths.ts'
import type { PublicationEntry } from '../snapshot/types.ts'
import { filterFor, isEventStream } from '../upstream/answer/choose.ts'
import type { AnswerFilter } from '../upstream/answer/filter.ts'
import type { RelayPorts } from '../upstream/exchange.ts'
import type { Answered, Answering } from '../upstream/types.ts'
import type { Account } from './account.ts'
import type { Delivered } from './delivered.ts'
import type { DeliveryOptions } from './delivery.ts'
import type { Drains } from './drains.ts'
import { asGwError, errorEvent } from './error-response.ts'
import { type InFlightRequest, Interrupted } from './in-flight-requests.ts'
import type { RequestContext } from './request-context.ts'
import { answerHeaders } from './rewrite.ts'
import type { RoutedCall } from './routed-call.ts'

export interface ForwardPorts {
  readonly relay: RelayPorts
  readonly log: Log
}

export interface Forwarding {
  readonly routed: RoutedCall
  readonly res: ServerResponse
  readonly path: InferencePath
  readonly publication: PublicationEntry
  readonly account: Account
  readonly context: RequestContext
  readonly drains: Drains | undefined
  readonly inFlight: InFlightRequest
}

/** Receives the end of an answer: one of these callbacks, once. */
export interface AnswerOwner {
  /** @param isWhole The answer contains no upstream error. */
  delivered(delivered: Delivered, isWhole: boolean): void
  /** No byte of the answer was sent to the client. */
  undelivered(error: unknown): void
}

export const ERROR_IN_STREAM = new GwError('upstream_error', undefined, {
  reason: 'the upstream sent an error inside its stream',
})

const NOTHING_TO_SETTLE = Promise.resolve()
const UNMETERED = { onMember: () => undefined, onText: () => undefined }

/** An answer in delivery, with its bill. */
export class ForwardedAnswer implements DeliveryOptions {
  readonly exchange: Answered
  readonly clock: Clock
  readonly filter: AnswerFilter
  readonly res: ServerResponse
  readonly status: number
  readonly isStream: boolean
  readonly drains: Drains | undefined
  #headers: string[]
  readonly #account: Account
  readonly #onUpstreamError: PublicationEntry['onUpstreamError']
  readonly #context: RequestContext
  readonly #ports: ForwardPorts
  readonly #owner: AnswerOwner

  constructor(
    { exchange, head }: Answering,
    forwarding: Forwarding,
    ports: ForwardPorts,
    owner: AnswerOwner,
  ) {
    const { routed, path, publication, account, context } = forwarding
    const { target } = routed.route
    this.exchange = exchange
    this.clock = ports.relay.clock
    this.filter = filterFor(head, {
      protocol: path.protocol,
      nameJson: publication.nameJson,
      servedModel: target.servedModel,
      hideUsage: routed.hideUsage,
      observer: account.meter ?? UNMETERED,
      requestId: context.requestId,
    })
    this.res = forwarding.res
    this.status = head.status
    this.#headers = answerHeaders(head, target, context)
    this.isStream = isEventStream(this.filter)
    this.drains = forwarding.drains
    this.#account = account
    this.#onUpstreamError = publication.onUpstreamError
    this.#context = context
    this.#ports = ports
    this.#owner = owner
  }

  get awaitsUsage(): boolean {
    return this.filter.finished && this.#account.meter?.isFinal === false
  }

  takeHeaders(): string[] {
    const headers = this.#headers
    this.#headers = []
    return headers
  }

  errorEvent(error: unknown): string {
    return errorEvent(asGwError(error), this.#context)
  }

  settle(): Promise<void> {
    const { bill } = this.#account
    if (!bill) return NOTHING_TO_SETTLE
    if (this.status >= 400) return bill.release(`upstream_${this.status}`)
    return this.filter.failed ? this.#endBroken(bill, 'broken', ERROR_IN_STREAM) : bill.settle('answered')
  }

  onBroken(error: unknown): void {
    this.#conclude({ outcome: 'broken', error })
  }

  onDelivered(delivered: Delivered): void {
    this.#conclude(delivered)
    this.#owner.delivered(delivered, !this.filter.failed)
  }

  onUndelivered(error: unknown): void {
    this.#owner.undelivered(error)
  }

  onFirstByte(): void {
    this.#context.firstByte()
  }

  /** Ends the bill of an incomplete answer; idempotent. */
  #conclude(delivered: Delivered): void {
    const ending = endingOf(delivered)
    const { bill } = this.#account
    if (!ending || !bill) return
    const error = delivered.error ?? (this.filter.failed ? ERROR_IN_STREAM : undefined)
    if (this.status >= 400) end(bill.release(`upstream_${this.status}`), this.#ports)
    else if (error === undefined || error instanceof Interrupted) end(bill.settle(ending), this.#ports)
    else end(this.#endBroken(bill, ending, error), this.#ports)
  }

  /** Charges the delivered part of an answer that the upstream broke off, unless `on_upstream_error` makes it free. */
  #endBroken(bill: Bill, ending: AnswerEnding, error: unknown): Promise<void> {
    const isCharged = this.#account.meter?.began === true && this.#onUpstreamError === 'charge'
    return isCharged ? bill.settle(ending) : bill.release(asGwError(error).code)
  }
}

/** The ending of an incomplete answer. A complete one was settled before its last bytes. */
function endingOf({ outcome, error }: Delivered): AnswerEnding | undefined {
  if (outcome === 'client_gone') return 'client_gone'
  return outcome === 'broken' ? brokenBy(error) : undefined
}

/** Bills distinguish a shutdown of the gateway from a failure of the upstream. */
function brokenBy(error: unknown): AnswerEnding {
  return error instanceof Interrupted ? 'interrupted' : 'broken'
}

/** Does not wait for the commit, because no byte depends on it. The ledger retries until it is committed. */
export function end(ended: Promise<void> | undefined, { log }: Pick<ForwardPorts, 'log'>): void {
  ended?.catch((error: unknown) => log.error({ err: error }, 'a bill was not committed'))
}
