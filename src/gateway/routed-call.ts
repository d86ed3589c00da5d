import type { IncomingMessage } from 'node:http'
import type { Bill } from '../metering/bill.ts'
import type { InferencePath } from '../schema/paths.ts'
import type { UpstreamFailure } from '../upstream/classify.ts'
import type { RetryTargets } from '../upstream/failover.ts'
import type { Route } from '../upstream/routing/route.ts'
import type { UpstreamRequest } from '../upstream/types.ts'
import type { Call } from './call.ts'
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

/** Builds the upstream request for each endpoint of a route; the model name differs by endpoint. */
export class RoutedCall implements RetryTargets {
  readonly route: Route
  /** Undefined once an endpoint has answered. */
  #options: RoutedCallOptions | undefined
  /** The gateway requested usage that the client did not request and must not see. */
  hideUsage = false
  /** The client has disconnected: no other endpoint is tried. */
  clientLeft = false

  constructor(options: RoutedCallOptions) {
    this.#options = options
    this.route = options.route
  }

  /** An endpoint has answered: frees the body, because no other endpoint will be tried. */
  release(): void {
    this.#active.call.pieces.length = 0
    this.#options = undefined
  }

  request(): UpstreamRequest {
    const { req, call, path, query, route, cap, context } = this.#active
    const { edits, hideUsage } = editsFor(call, route.target, path, cap)
    this.hideUsage = hideUsage
    return upstreamRequest(req, call, edits, route.target, path, query, context)
  }

  tryNext(failure: UpstreamFailure): boolean {
    const { route, context, bill } = this.#active
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

  get #active(): RoutedCallOptions {
    if (!this.#options) throw new Error('an endpoint has answered: no other can be tried')
    return this.#options
  }
}
