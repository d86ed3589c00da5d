import type { IncomingMessage } from 'node:http'
import type { Bill } from '../metering/bill.ts'
import type { UpstreamFailure } from '../relay/classify.ts'
import type { RetryTargets } from '../relay/failover.ts'
import type { UpstreamRequest } from '../relay/types.ts'
import type { Route } from '../routing/route.ts'
import type { Call } from './call.ts'
import type { InferencePath } from './endpoints.ts'
import type { RequestContext } from './request-context.ts'
import { editsFor, type OutputCapEdit, upstreamRequest } from './rewrite.ts'

export interface RoutedCallOptions {
  readonly req: IncomingMessage
  readonly call: Call
  readonly path: InferencePath
  readonly query: string
  readonly route: Route
  readonly bill: Bill | undefined
  readonly context: RequestContext
  readonly cap: OutputCapEdit | undefined
}

/** A client's request on its way through the endpoints that may serve it, each of which has a name of its own for the model. */
export class RoutedCall implements RetryTargets {
  readonly route: Route
  /** Undefined once an endpoint has answered. */
  #options: RoutedCallOptions | undefined
  /** The upstream is asked for usage that the client did not ask for, and must not see. */
  hideUsage = false
  /** The client has left: no other endpoint is asked. */
  clientLeft = false

  constructor(options: RoutedCallOptions) {
    this.#options = options
    this.route = options.route
  }

  /** An endpoint has answered: no other will be asked, and the body is not needed for as long as the answer takes. */
  release(): void {
    this.#given.call.pieces.length = 0
    this.#options = undefined
  }

  request(): UpstreamRequest {
    const { req, call, path, query, route, cap, context } = this.#given
    const { edits, hideUsage } = editsFor(call, route.target, path, cap)
    this.hideUsage = hideUsage
    return upstreamRequest(req, call, edits, route.target, path, query, context)
  }

  tryNext(failure: UpstreamFailure): boolean {
    const { route, context, bill } = this.#given
    context.attempted(route.target.endpoint.name, failure.result, failure.reason)
    if (this.clientLeft) {
      route.failed(failure)
      return false
    }
    if (!route.tryNext(failure)) return false
    context.endpoint = route.target.endpoint.name
    bill?.servedBy(route.target.endpoint.account)
    return true
  }

  get #given(): RoutedCallOptions {
    if (!this.#options) throw new Error('an endpoint has answered: no other can be asked')
    return this.#options
  }
}
