import type { IncomingMessage, ServerResponse } from 'node:http'
import { GwError, WIRE_ERRORS } from '../base/catalogue/wire.ts'
import { type ListenAddress, type Listener, listen, type RejectionAnswer } from '../http/listen.ts'
import { type HttpRejection, rejectionOf } from '../http/rejection.ts'
import { type Match, type Route, Router } from '../http/routes.ts'
import { callRecord, rejectedCall } from '../metering/call-log.ts'
import { logRequest, type RequestMeter } from '../metering/request-log.ts'
import {
  CALL_PATHS,
  INFERENCE_PATHS,
  protocolOfPath,
  STORED_PREFIX,
  UNSERVED_PATHS,
} from '../schema/paths.ts'
import type { Protocol } from '../schema/protocol.ts'
import { answerPreflight, corsHeaders, isPreflight } from './cors.ts'
import type { Delivered } from './endings.ts'
import { asGwError, errorAnswer, sendError } from './error-response.ts'
import { answerScrape, type MetricsPort } from './metrics.ts'
import { listModels, showModel } from './models.ts'
import { type PipelinePorts, serveInference } from './pipeline.ts'
import { RequestContext, RequestIds } from './request-context.ts'
import { serveStored } from './stored-operations.ts'

export interface GatewayPorts extends PipelinePorts {
  /** Answers `/health`. */
  readonly health: (res: ServerResponse) => void
  /** Open connections of clients at one time; 20,000 by default. */
  readonly maxConnections?: number
  readonly requests: RequestMeter
  /** The answer of `/metrics` and its token. Absent: the path does not exist. */
  readonly metrics?: MetricsPort
}

interface ServerPorts extends GatewayPorts {
  readonly ids: RequestIds
}

interface HandlerCall {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  readonly path: string
  /** With its question mark; empty if absent. */
  readonly query: string
  readonly context: RequestContext
}

type Handler = (call: HandlerCall) => Promise<Delivered>

const MAX_CONNECTIONS = 20_000

const ANSWERED: Delivered = { outcome: 'answered' }

/** An answered scrape, which is not counted as a request. */
const SCRAPED: Delivered = { outcome: 'answered' }

/** The inference gateway: `/v1/*`, `/health` and `/metrics`. */
export function startGateway(address: ListenAddress, gatewayPorts: GatewayPorts): Promise<Listener> {
  const ports: ServerPorts = { ...gatewayPorts, ids: new RequestIds(gatewayPorts) }
  const router = new Router<Handler>(routes(ports))
  return listen({
    address,
    clock: ports.clock,
    onRequest: (req, res) => {
      if (isHealthCheck(req)) ports.health(res)
      else handle(req, res, router, ports)
    },
    log: ports.log,
    maxConnections: ports.maxConnections ?? MAX_CONNECTIONS,
    rejectionAnswer: (rejection, target) => answerMalformed(rejection, target, ports),
  })
}

/** A health check is not logged: a load balancer sends one every second. */
function isHealthCheck(req: IncomingMessage): boolean {
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
  const stored = ['GET', 'POST', 'DELETE'].map(method => ({
    method,
    path: STORED_PREFIX.path,
    handler: ({ req, res, path, query, context }: HandlerCall) =>
      serveStored(req, res, path, query, context, ports),
  }))
  return [
    ...inference,
    ...stored,
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

/** Handles one request: answers every thrown error, and logs every request. */
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
    // Not an async function: a stream would retain its whole frame until it ends.
    answer(call).then(ended => conclude(ended, res, context, ports), answered)
  } catch (thrown) {
    answered(thrown)
  }
}

function conclude(ended: Delivered, res: ServerResponse, context: RequestContext, ports: ServerPorts): void {
  // Not logged, like a health check: there are four scrapes a minute.
  if (ended === SCRAPED) return ports.requests.passed()
  const record = context.record(ended.outcome, res, ended.error)
  ports.requests.ended(record)
  context.trace?.end(record)
  logRequest(ports.log, record)
  if (context.isCall) ports.ledger.log(callRecord(record, context.bill?.claim, ports.clock.nowMs()))
  else if (!context.bill && (ended.outcome === 'rejected' || ended.outcome === 'failed'))
    ports.ledger.logRejected(rejectedCall(record, rejectedFor(ended.error, context), ports.clock.nowMs()))
}

function rejectedFor(error: unknown, { key, askedModel, showsEndpoints }: RequestContext) {
  const { account: tenant } = key?.tenant ?? {}
  return { key: key?.account, tenant, askedModel, message: asGwError(error).messageFor(showsEndpoints) }
}

/** Answers a malformed request in the error format of its path, and logs it. */
function answerMalformed(
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
  // The listener logs a count of these: a line for each would flood the log.
  if (code !== 'too_many_connections') logRequest(ports.log, record)
  return errorAnswer(error, context)
}

/** @throws {GwError} if the head of the request is malformed, or has an unknown path or method. */
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

/** The title of an error with a hint for the client; undefined if there is no hint. */
function hintFor(
  path: string,
  code: 'unknown_path' | 'bad_request',
  router: Router<Handler>,
): string | undefined {
  const hint = pathHint(path, served => router.has(served))
  return hint && `${WIRE_ERRORS[code].title} ${hint}`
}

/** Answers a thrown error; if the head has been sent, it cuts the connection. */
function answerError(thrown: unknown, res: ServerResponse, context: RequestContext): Delivered {
  const error = asGwError(thrown)
  if (res.destroyed) return { outcome: 'client_gone' }
  if (res.headersSent) res.destroy()
  else sendError(res, error, context)
  return { outcome: WIRE_ERRORS[error.code].status >= 500 ? 'failed' : 'rejected', error }
}

const OF_ONE_PROTOCOL: ReadonlySet<string> = new Set(CALL_PATHS)

/** `/v1/models` is of both SDKs, and an unknown path of either: Anthropic's is recognized by its header (spec/wire.md §1). */
function protocolOf(path: string, req: IncomingMessage): Protocol {
  const protocol = protocolOfPath(path)
  if (protocol === 'anthropic' || OF_ONE_PROTOCOL.has(path)) return protocol
  return req.headers['anthropic-version'] === undefined ? 'openai' : 'anthropic'
}

/** A common mistake in the base URL of a client, and its correction. */
interface Mistake {
  readonly found: RegExp
  readonly right: string
  readonly hint: string
}

const MISTAKES: readonly Mistake[] = [
  { found: /\/{2,}/g, right: '/', hint: 'end the base URL of the client without a slash' },
  {
    found: /^(?:\/v1){2,}(?=\/)/,
    right: '/v1',
    hint: 'the client adds `/v1` by itself: end its base URL before that',
  },
  {
    found: /^(?:\/openai|\/v1)?\/deployments\/[^/]+(?=\/)/,
    right: '/v1',
    hint: 'the client is one for Azure: take OpenAI’s own, which names the model in the body',
  },
  { found: /^\/(?:openai|anthropic)(?=\/)/, right: '', hint: 'leave out the name of the vendor' },
  {
    found: /^\/v2(?=\/rerank$)/,
    right: '/v1',
    hint: 'the gateway has version 1 of Cohere’s API: take `cohere.Client`',
  },
  { found: /(?<=.)\/$/, right: '', hint: 'leave out the slash at the end' },
  { found: /^(?!\/v1\/)/, right: '/v1', hint: 'end the base URL of the client in `/v1`' },
]

/**
 * For an unknown path: the similar path that is served, and what to change in the client. The answer never repeats the
 * received path.
 *
 * @param path As received, without the query.
 * @param isServed Whether the path exists, for any method.
 */
function pathHint(path: string, isServed: (path: string) => boolean): string | undefined {
  if (UNSERVED_PATHS.some(unserved => path === unserved || path.startsWith(`${unserved}/`)))
    return `Realtime sessions, files and batches are not served: call one of ${CALL_PATHS.map(each => `\`${each}\``).join(', ')}.`
  let corrected = path
  const hints: string[] = []
  for (const { found, right, hint } of MISTAKES) {
    const next = corrected.replace(found, right)
    if (next === corrected) continue
    corrected = next
    hints.push(hint)
    if (isServed(corrected)) return `Call \`${shown(corrected)}\`: ${hints.join('; ')}.`
  }
  return undefined
}

/** Replaces an id, which came from the client. */
function shown(path: string): string {
  const prefix = ['/v1/models/', STORED_PREFIX.path].find(each => path.startsWith(each))
  return prefix === undefined || CALL_PATHS.some(each => each === path) ? path : `${prefix}{id}`
}
