import type { ServerResponse } from 'node:http'
import { GwError } from '../base/catalogue/wire.ts'
import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { AnswerEnding } from '../metering/answer-meter.ts'
import { filterFor, isEventStream } from '../relay/answer/choose.ts'
import type { AnswerFilter } from '../relay/answer/filter.ts'
import type { RelayPorts } from '../relay/exchange.ts'
import { Failover } from '../relay/failover.ts'
import type { Answered, Answering, AnswerTaker, BodySink } from '../relay/types.ts'
import type { Route } from '../routing/route.ts'
import type { PublicationEntry } from '../snapshot/types.ts'
import type { Account } from './account.ts'
import { CLIENT_GONE, ClientGone, type Delivered, Delivery, type DeliveryOptions } from './delivery.ts'
import type { Drains } from './drains.ts'
import type { InferencePath } from './endpoints.ts'
import { asGwError, errorEvent } from './rescue.ts'
import { answerHeaders } from './rewrite.ts'
import type { RoutedCall } from './routed-call.ts'
import type { Trace } from './trace.ts'
import { Interrupted, type Visit } from './underway.ts'

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
  readonly trace: Trace
  readonly drains: Drains | undefined
  readonly visit: Visit
}

/**
 * Sends a request upstream and its answer down, and ends its bill by what came of it (MONEY, "What is charged").
 *
 *     failover ──▶ head ──▶ deliver ──▶ settle ──▶ last bytes
 *        │                     │
 *     nobody answered       client left, upstream broke, gateway ends
 *     → released, thrown    → charged by what passed, or released where nothing had
 *
 * At its end it gives back what the request has taken.
 */
export function forward(forwarding: Forwarding, ports: ForwardPorts): Promise<Delivered> {
  return new Promise((resolve, reject) => new Passage(forwarding, ports, resolve, reject).begin())
}

/** A request on its way to whoever answers it. One object: a promise and closures for each step would cost more. */
class Passage implements AnswerTaker {
  readonly #forwarding: Forwarding
  readonly #ports: ForwardPorts
  readonly #resolve: (delivered: Delivered) => void
  readonly #reject: (error: unknown) => void
  readonly #failover: Failover
  /** Once there is an answer. */
  #delivery: Delivery | undefined

  constructor(
    forwarding: Forwarding,
    ports: ForwardPorts,
    resolve: (delivered: Delivered) => void,
    reject: (error: unknown) => void,
  ) {
    this.#forwarding = forwarding
    this.#ports = ports
    this.#resolve = resolve
    this.#reject = reject
    this.#failover = new Failover(forwarding.routed, ports.relay, this)
  }

  begin(): void {
    const { res, visit } = this.#forwarding
    // It stays on: to take it off costs more than to hear it in vain.
    res.on('close', () => {
      if (this.#delivery) this.#delivery.clientLeft()
      else this.#failover.abort(new ClientGone())
    })
    visit.interruptible(this.#failover)
    try {
      this.#failover.begin()
    } catch (error) {
      this.#fail(error)
    }
  }

  onAnswer(answering: Answering): BodySink {
    const { routed } = this.#forwarding
    routed.letGo()
    const answer = new ForwardedAnswer(answering, this.#forwarding, this.#ports, this)
    this.#delivery = new Delivery(answer)
    this.#delivery.begin()
    return this.#delivery
  }

  onNoAnswer(error: unknown): void {
    this.#fail(error)
  }

  /** @param isWhole It is what the upstream meant as an answer, without an error told inside. */
  delivered(delivered: Delivered, isWhole: boolean): void {
    const { outcome, error } = delivered
    const { route } = this.#forwarding.routed
    if (outcome === 'answered') route.succeeded()
    else if (isUpstreams(error)) route.broke(error)
    this.#leave()
    this.#resolve(isWhole || outcome !== 'answered' ? delivered : { outcome: 'broken', error: TOLD_INSIDE })
  }

  undelivered(error: unknown): void {
    if (!this.#isGone(error) && isUpstreams(error)) this.#forwarding.routed.route.broke(error)
    this.#fail(error)
  }

  /** Nothing of an answer has gone to the client. */
  #fail(error: unknown): void {
    const { bill, meter } = this.#forwarding.account
    const isGone = this.#isGone(error)
    this.#failover.abort(asGwError(error))
    if (meter?.began) end(bill?.settle(isGone ? 'client_gone' : brokenBy(error)), this.#ports)
    else end(bill?.release(isGone ? 'client_gone' : asGwError(error).code), this.#ports)
    this.#leave()
    if (isGone) this.#resolve(CLIENT_GONE)
    else this.#reject(error)
  }

  #leave(): void {
    const { account, routed, visit } = this.#forwarding
    leave(account, routed.route, visit)
  }

  #isGone(error: unknown): boolean {
    return error instanceof ClientGone || this.#forwarding.res.destroyed
  }
}

/** An answer on its way to the client, and what its bill comes to. */
class ForwardedAnswer implements DeliveryOptions {
  readonly exchange: Answered
  readonly clock: Clock
  readonly filter: AnswerFilter
  readonly res: ServerResponse
  readonly status: number
  readonly isStream: boolean
  readonly drains: Drains | undefined
  #headers: string[]
  readonly #account: Account
  readonly #trace: Trace
  readonly #ports: ForwardPorts
  readonly #passage: Passage

  constructor({ exchange, head }: Answering, forwarding: Forwarding, ports: ForwardPorts, passage: Passage) {
    const { routed, path, publication, account, trace } = forwarding
    const { target } = routed.route
    this.exchange = exchange
    this.clock = ports.relay.clock
    this.filter = filterFor(head, {
      protocol: path.protocol,
      nameJson: publication.nameJson,
      servedModel: target.servedModel,
      hideUsage: routed.hideUsage,
      observer: account.meter ?? UNMETERED,
    })
    this.res = forwarding.res
    this.status = head.status
    this.#headers = answerHeaders(head, target, trace)
    this.isStream = isEventStream(this.filter)
    this.drains = forwarding.drains
    this.#account = account
    this.#trace = trace
    this.#ports = ports
    this.#passage = passage
  }

  takeHeaders(): string[] {
    const headers = this.#headers
    this.#headers = []
    return headers
  }

  errorEvent(error: unknown): string {
    return errorEvent(asGwError(error), this.#trace.protocol, this.#trace.requestId)
  }

  settle(): Promise<void> {
    const { bill, meter } = this.#account
    if (!bill) return NOTHING_TO_SETTLE
    if (this.status >= 400) return bill.release(`upstream_${this.status}`)
    if (!this.filter.failed) return bill.settle('answered')
    return meter?.began ? bill.settle('broken') : bill.release(TOLD_INSIDE.code)
  }

  onBroken(error: unknown): void {
    this.#conclude({ outcome: 'broken', error })
  }

  onDelivered(delivered: Delivered): void {
    this.#conclude(delivered)
    this.#passage.delivered(delivered, !this.filter.failed)
  }

  onUndelivered(error: unknown): void {
    this.#passage.undelivered(error)
  }

  onFirstByte(): void {
    this.#trace.firstByte()
  }

  /** Ends the bill of an answer that was not whole; a second time changes nothing. */
  #conclude(delivered: Delivered): void {
    const ending = endingOf(delivered)
    if (!ending) return
    const { bill, meter } = this.#account
    if (this.status >= 400) end(bill?.release(`upstream_${this.status}`), this.#ports)
    else if (ending === 'broken' && !meter?.began)
      end(bill?.release(asGwError(delivered.error).code), this.#ports)
    else end(bill?.settle(ending), this.#ports)
  }
}

const NOTHING_TO_SETTLE = Promise.resolve()

const TOLD_INSIDE = new GwError('upstream_error', undefined, {
  reason: 'the upstream told of an error inside its stream',
})

/** How an answer ended that was not whole. A whole one was settled before its last bytes. */
function endingOf({ outcome, error }: Delivered): AnswerEnding | undefined {
  if (outcome === 'client_gone') return 'client_gone'
  return outcome === 'broken' ? brokenBy(error) : undefined
}

function brokenBy(error: unknown): AnswerEnding {
  return error instanceof Interrupted ? 'interrupted' : 'broken'
}

/** Whether the endpoint is to blame: not the client, the ledger, or a gateway that ends. */
function isUpstreams(error: unknown): error is GwError {
  return error instanceof GwError && (error.code === 'upstream_error' || error.code === 'upstream_timeout')
}

/** Nobody waits for these ends: no byte hangs on them. The ledger keeps them until they are committed. */
export function end(ended: Promise<void> | undefined, { log }: Pick<ForwardPorts, 'log'>): void {
  ended?.catch((error: unknown) => log.error({ err: error }, 'a bill was not committed'))
}

/** Gives back what a request has taken; a second time changes nothing. */
export function leave(account: Account | undefined, route: Route, visit: Visit): void {
  account?.leave()
  route.leave()
  visit.leave()
}

const UNMETERED = { onMember: () => undefined, onText: () => undefined }
