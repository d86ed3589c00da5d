import { GwError } from '../base/catalogue/wire.ts'
import { Failover } from '../upstream/failover.ts'
import type { Route } from '../upstream/routing/route.ts'
import type { AnswerHandler, Answering, BodySink } from '../upstream/types.ts'
import type { Account } from './account.ts'
import { CLIENT_GONE, ClientGone, type Delivered } from './delivered.ts'
import { Delivery } from './delivery.ts'
import type { Drain } from './drains.ts'
import { asGwError } from './error-response.ts'
import {
  type AnswerOwner,
  ERROR_IN_STREAM,
  end,
  ForwardedAnswer,
  type Forwarding,
  type ForwardPorts,
} from './forwarded-answer.ts'
import { type InFlightRequest, Interrupted } from './in-flight-requests.ts'

/**
 * Sends a request upstream and its answer to the client, and settles or releases its bill (spec/money.md §2).
 *
 *     failover ──▶ head ──▶ deliver ──▶ settle ──▶ last bytes
 *        │                     │
 *        │                  client left, upstream broke, gateway ends
 *        │                  → charged by what passed; released if the client got an error instead of an answer
 *        ├─ no answer       → released, thrown
 *        └─ client left     → released before dispatch; after dispatch charged for the input, or drained (`drain`)
 *
 * At the end it releases everything that the request reserved.
 */
export function forward(forwarding: Forwarding, ports: ForwardPorts): Promise<Delivered> {
  return new Promise((resolve, reject) => new ProxiedRequest(forwarding, ports, resolve, reject).begin())
}

/** A request from dispatch to its end. One object, because a promise and closures for each step would cost more. */
class ProxiedRequest implements AnswerHandler, AnswerOwner {
  readonly #forwarding: Forwarding
  readonly #ports: ForwardPorts
  readonly #resolve: (delivered: Delivered) => void
  readonly #reject: (error: unknown) => void
  readonly #failover: Failover
  /** Set once an endpoint answers. */
  #delivery: Delivery | undefined
  /** Set if the client disconnected before the answer, which is still read for its usage. */
  #drain: Drain | undefined
  #over = false

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
    const { res, inFlight } = this.#forwarding
    // Never removed: removing a listener costs more than a no-op call.
    res.on('close', () => {
      if (this.#delivery) this.#delivery.clientLeft()
      else if (!this.#over) this.#clientLeft()
    })
    inFlight.interruptible(this.#failover)
    try {
      this.#failover.begin()
    } catch (error) {
      this.#fail(error)
    }
  }

  /** The client disconnected before an answer. A request that was not dispatched is aborted. */
  #clientLeft(): void {
    const { drains, routed } = this.#forwarding
    if (this.#failover.dispatched) this.#drain = drains?.enter(this.#failover, this.#ports.relay.clock)
    if (this.#drain) routed.clientLeft = true
    else this.#failover.abort(new ClientGone())
  }

  onAnswer(answering: Answering): BodySink {
    const { routed } = this.#forwarding
    routed.release()
    const answer = new ForwardedAnswer(answering, this.#forwarding, this.#ports, this)
    this.#delivery = new Delivery(answer)
    this.#delivery.begin(this.#drain)
    this.#drain = undefined
    return this.#delivery
  }

  onNoAnswer(error: unknown): void {
    this.#fail(error)
  }

  delivered(delivered: Delivered, isWhole: boolean): void {
    const { outcome, error } = delivered
    const { route } = this.#forwarding.routed
    if (outcome === 'answered') route.succeeded()
    else if (isUpstreamError(error)) route.failedMidway(error)
    this.#leave()
    this.#resolve(
      isWhole || outcome !== 'answered' ? delivered : { outcome: 'broken', error: ERROR_IN_STREAM },
    )
  }

  undelivered(error: unknown): void {
    if (isUpstreamError(error)) this.#forwarding.routed.route.failedMidway(error)
    this.#fail(error)
  }

  /** The request failed before a byte of an answer was sent. */
  #fail(error: unknown): void {
    this.#over = true
    const isGone = error instanceof ClientGone || this.#forwarding.res.destroyed
    this.#failover.abort(asGwError(error))
    this.#drain?.end()
    this.#endBill(error, isGone)
    this.#leave()
    if (isGone) this.#resolve(CLIENT_GONE)
    else this.#reject(error)
  }

  /** A request that its upstream failed costs nothing, even if the client has disconnected. */
  #endBill(error: unknown, isGone: boolean): void {
    const { bill, meter } = this.#forwarding.account
    const isUnfinished = error instanceof ClientGone || error instanceof Interrupted
    const ending = isGone ? 'client_gone' : 'interrupted'
    const hasCost = isGone ? this.#failover.dispatched : meter?.began === true
    if (isUnfinished && hasCost) end(bill?.settle(ending), this.#ports)
    else end(bill?.release(isUnfinished && isGone ? ending : asGwError(error).code), this.#ports)
  }

  #leave(): void {
    const { account, routed, inFlight } = this.#forwarding
    leave(account, routed.route, inFlight)
  }
}

/** Whether the endpoint caused the error, not the client, the ledger, or a shutdown. */
function isUpstreamError(error: unknown): error is GwError {
  return error instanceof GwError && (error.code === 'upstream_error' || error.code === 'upstream_timeout')
}

/** Releases everything that a request reserved; idempotent. */
export function leave(account: Account | undefined, route: Route, inFlight: InFlightRequest): void {
  account?.leave()
  route.leave()
  inFlight.leave()
}
