import type { IncomingMessage, ServerResponse } from 'node:http'
import { GwError, WIRE_ERRORS } from '../base/catalogue/wire.ts'
import { type ListenAddress, type Listener, listen, type RejectionAnswer } from '../http/listen.ts'
import { type HttpRejection, rejectionOf } from '../http/rejection.ts'
import { type Match, type Route, Router } from '../http/routes.ts'
import { callRecord, rejectedCall } from '../metering/call-log.ts'
import type { RequestMeter } from '../metering/metrics/request-meter.ts'
import { logRequest } from '../metering/request-log.ts'
import type { Protocol } from '../schema/endpoint.ts'
import { answerPreflight, corsHeaders, isPreflight } from './cors.ts'
import type { Delivered } from './delivered.ts'
import { INFERENCE_PATHS, protocolOfPath } from './endpoints.ts'
import { asGwError, errorAnswer, sendError } from './error-response.ts'
import { answerScrape, type MetricsPort } from './metrics.ts'
import { listModels, showModel } from './models.ts'
import { pathHint } from './path-hint.ts'
import { type PipelinePorts, serveInference } from './pipeline.ts'
import { RequestContext } from './request-context.ts'
import { RequestIds } from './request-ids.ts'

export interface GatewayPorts extends PipelinePorts {
  /** Answers `/health`. */
  readonly health: (res: ServerResponse) => void
  /** Open connections of clients at one time; 20,000 by default. */
  readonly maxConnections?: number
  readonly requests: RequestMeter
  /** What `/metrics` answers, and to whom. Absent: there is no such path. */
  readonly metrics?: MetricsPort
}

interface ServerPorts extends GatewayPorts {
  readonly ids: RequestIds
}

interface HandlerCall {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  readonly path: string
  /** With its question mark; empty where there is none. */
  readonly query: string
  readonly context: RequestContext
}

type Handler = (call: HandlerCall) => Promise<Delivered>

const MAX_CONNECTIONS = 20_000

const ANSWERED: Delivered = { outcome: 'answered' }

/** A scrape that was answered; it is not counted among the requests. */
const SCRAPED: Delivered = { outcome: 'answered' }

/** The inference gateway: `/v1/*`, `/health` and `/metrics`. */
export function startGateway(address: ListenAddress, given: GatewayPorts): Promise<Listener> {
  const ports: ServerPorts = { ...given, ids: new RequestIds(given) }
  const router = new Router<Handler>(routes(ports))
  return listen({
    address,
    clock: ports.clock,
    onRequest: (req, res) => {
      if (asksForHealth(req)) ports.health(res)
      else handle(req, res, router, ports)
    },
    log: ports.log,
    maxConnections: ports.maxConnections ?? MAX_CONNECTIONS,
    rejectionAnswer: (rejection, target) => answerNone(rejection, target, ports),
  })
}

/** Without a line in the log: a load balancer asks every second. */
function asksForHealth(req: IncomingMessage): boolean {
  const { url = '' } = req
  if (!url.startsWith('/health')) return false
  const [path] = url.split('?', 1)
  const reads = req.method === 'GET' || req.method === 'HEAD'
  return path === '/health' && reads && rejectionOf(req) === undefined
}

function routes(ports: ServerPorts): Route<Handler>[] {
  const inference = INFERENCE_PATHS.map(path => ({
    method: 'POST',
    path: path.path,
    handler: ({ req, res, query, context }: HandlerCall) =>
      serveInference(req, res, path, query, context, ports),
  }))
  const health: Handler = async ({ res }) => {
    ports.health(res)
    return ANSWERED
  }
  const scrapes = ports.metrics ? scrapeRoutes(ports.metrics) : []
  return [
    ...inference,
    ...scrapes,
    { method: 'GET', path: '/health', handler: health },
    {
      method: 'GET',
      path: '/v1/models',
      handler: async ({ req, res, query, context }) => {
        listModels(req, res, query, context, ports)
        return ANSWERED
      },
    },
    {
      method: 'GET',
      path: '/v1/models/',
      handler: async ({ req, res, path, context }) => {
        showModel(req, res, path, context, ports)
        return ANSWERED
      },
    },
  ]
}

function scrapeRoutes(metrics: MetricsPort): Route<Handler>[] {
  const handler: Handler = async ({ req, res }) => {
    await answerScrape(req, res, metrics)
    return SCRAPED
  }
  return [{ method: 'GET', path: '/metrics', handler }]
}

/** Whatever is thrown becomes an answer, and every request becomes a line in the log. */
function handle(
  req: IncomingMessage,
  res: ServerResponse,
  router: Router<Handler>,
  ports: ServerPorts,
): void {
  const method = req.method ?? ''
  const match = router.match(method, req.url ?? '')
  const origins = ports.current()?.corsOrigins
  if (origins && isPreflight(req) && !match.found && match.allow.length > 0 && !rejectionOf(req)) {
    return answerPreflight(req, res, origins, match.allow)
  }
  const context = new RequestContext(method, match.path, protocolOf(match.path, req), ports)
  context.corsHeaders = corsHeaders(req, origins)
  const call = { req, res, context, path: match.path, query: match.found ? match.query : '' }
  const answered = (thrown: unknown): void => conclude(answerError(thrown, res, context), res, context, ports)
  ports.requests.began()
  try {
    const answer = route(req, match, router)
    // Not an async function: a stream would keep all of it to its end.
    answer(call).then(ended => conclude(ended, res, context, ports), answered)
  } catch (thrown) {
    answered(thrown)
  }
}

function conclude(ended: Delivered, res: ServerResponse, context: RequestContext, ports: ServerPorts): void {
  // Without a line in the log, as for health: it comes four times a minute.
  if (ended === SCRAPED) return ports.requests.passed()
  const record = context.record(ended.outcome, res, ended.error)
  ports.requests.ended(record)
  logRequest(ports.log, record)
  if (context.isCall) ports.ledger.log(callRecord(record, context.bill?.claim, ports.clock.nowMs()))
  else if (!context.bill && (ended.outcome === 'rejected' || ended.outcome === 'failed'))
    ports.ledger.logRejected(rejectedCall(record, rejectedFor(ended.error, context), ports.clock.nowMs()))
}

function rejectedFor(error: unknown, { key, askedModel }: RequestContext) {
  const { account: tenant } = key?.tenant ?? {}
  return { key: key?.account, tenant, askedModel, message: asGwError(error).message }
}

/** What never became a request is told so, in its path's shape where it has one, and has a line in the log. */
function answerNone(
  { code, status }: HttpRejection,
  target: string | undefined,
  ports: ServerPorts,
): RejectionAnswer {
  const error = new GwError(code, undefined, status === 503 ? { retryAfterMs: 1_000 } : {})
  const [path = ''] = (target ?? '').split('?', 1)
  const context = new RequestContext('', path, protocolOfPath(path), ports)
  const record = context.record('rejected', { headersSent: true, statusCode: status }, error)
  ports.requests.began()
  ports.requests.ended(record)
  // Of those that find no room the listener tells how many: a line for each would be a flood of its own.
  if (code !== 'too_many_connections') logRequest(ports.log, record)
  return errorAnswer(error, context)
}

/** @throws {GwError} what the head of a request alone is enough to reject it for. */
function route(req: IncomingMessage, match: Match<Handler>, router: Router<Handler>): Handler {
  const rejection = rejectionOf(req)
  if (rejection) {
    const hint = match.path.startsWith('//') ? hintFor(match.path, 'bad_request', router) : undefined
    throw new GwError(rejection.code, hint, { headers: { connection: 'close' } })
  }
  if (match.found) return match.handler
  if (match.allow.length === 0) throw new GwError('unknown_path', hintFor(match.path, 'unknown_path', router))
  throw new GwError('method_not_allowed', undefined, { headers: { allow: match.allow.join(', ') } })
}

/** The title of an error with what to change in the client; undefined where that is not known. */
function hintFor(
  path: string,
  code: 'unknown_path' | 'bad_request',
  router: Router<Handler>,
): string | undefined {
  const hint = pathHint(path, served => router.has(served))
  return hint && `${WIRE_ERRORS[code].title} ${hint}`
}

/** Answers for whatever a stage has thrown; where the head is out already there is nothing left but to cut. */
function answerError(thrown: unknown, res: ServerResponse, context: RequestContext): Delivered {
  const error = asGwError(thrown)
  if (res.destroyed) return { outcome: 'client_gone' }
  if (res.headersSent) res.destroy()
  else sendError(res, error, context)
  return { outcome: WIRE_ERRORS[error.code].status >= 500 ? 'failed' : 'rejected', error }
}

/** `/v1/models` is one path for both SDKs; Anthropic's names itself by a header (spec/wire.md §1). */
function protocolOf(path: string, req: IncomingMessage): Protocol {
  const shared = path === '/v1/models' || path.startsWith('/v1/models/')
  if (shared) return req.headers['anthropic-version'] === undefined ? 'openai' : 'anthropic'
  return protocolOfPath(path)
}
