import type { IncomingMessage, ServerResponse } from 'node:http'
import { type ApiCode, ApiError } from '../base/catalogue/api.ts'
import type { Log } from '../base/log.ts'
import type { ServedConnection } from '../http/connection.ts'
import { sendJson } from '../http/json.ts'
import { type ListenAddress, type Listener, listen } from '../http/listen.ts'
import { rejectionOf } from '../http/rejection.ts'
import { SharedEvents } from '../services/events.ts'
import { SharedLiveStats } from '../services/live-stats/shared-live-stats.ts'
import { Sessions } from '../services/sessions.ts'
import type { Store } from '../store/types.ts'
import { ChangeRate } from './change-rate.ts'
import { TrustedProxies } from './client-address.ts'
import { asApiError, asRejected, PROBLEM_TYPE, problemBody, sendProblem } from './error-response.ts'
import { EventLoopPacer } from './event-loop-pacer.ts'
import { allHandlers } from './handlers/all.ts'
import { Hosts } from './hosts.ts'
import { OperationRouter } from './operation-router.ts'
import { CONSOLE_PATH, type Console } from './pages/console.ts'
import { type Page, sendPage } from './pages/page.ts'
import type { Pages } from './pages/pages.ts'
import { wantsHtml, welcomePages } from './pages/welcome.ts'
import type { UseCasePorts } from './ports.ts'
import { type OperationPorts, serveOperation } from './serve-operation.ts'
import { sessionCookie } from './session/credentials.ts'
import { LoginThrottle } from './session/login-throttle.ts'
import { SharedAnswers } from './shared-answers.ts'
import { SharedTexts } from './shared-texts.ts'
import { Tarpit } from './tarpit.ts'

export interface ControlPorts extends UseCasePorts {
  /** A separate connection: the gateway must see these writes like those of any other process. */
  readonly store: Store
  readonly log: Log
  /** The answer of `/health`. */
  readonly health: () => Promise<{ readonly httpStatus: 200 | 503; readonly json: string }>
  /** The URL for browsers, if it differs from their `host` header: behind a proxy that terminates TLS. */
  readonly publicUrl: URL | undefined
  /** Addresses and networks of proxies whose forwarding headers are trusted. */
  readonly trustedProxies: readonly string[]
  /** The documentation pages; absent: none are served. */
  readonly pages?: Pages | undefined
  /** The web console; absent: it is switched off. */
  readonly console?: Console | undefined
}

/** Far more than users and their scripts need. */
const MAX_CONNECTIONS = 1_000
const ID_BYTES = 12
/** Requests per turn of the event loop; each costs some tenths of a millisecond before its first wait. */
const PER_TURN = 2
/** Rejections that are delayed under load. */
const DELAYED_CODES: ReadonlySet<ApiCode> = new Set(['busy', 'too_many_attempts'])

/** Sent with every answer (OWASP, "HTTP Security Response Headers"). No CORS: other sites are not served. */
const HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
} as const

/** The control plane: `/api/v1/*`, `/health`, and the pages if enabled. */
export async function startControl(address: ListenAddress, ports: ControlPorts): Promise<Listener> {
  const { store, clock, random, hasher, log } = ports
  const sessions = new Sessions({ users: store.users, clock, random })
  const cookie = sessionCookie(ports.publicUrl)
  const closing = new AbortController()
  const liveStats = new SharedLiveStats(store, ports.gateways, ports)
  const live = {
    liveStats,
    events: new SharedEvents(store, liveStats, clock),
    sessions,
    closing: closing.signal,
  }
  const handlers = new SharedAnswers(live.events).over(
    allHandlers(
      { ...ports, ...live },
      {
        sessions,
        loginLimit: new LoginThrottle(clock),
        hasher,
        cookie,
        clock,
      },
    ),
  )
  const eventLoopPacer = new EventLoopPacer(PER_TURN)
  const proxies = new TrustedProxies(ports.trustedProxies)
  const parts = {
    router: new OperationRouter(),
    operations: {
      store,
      log,
      handlers,
      sessions,
      cookie,
      changeRate: new ChangeRate(clock),
      texts: new SharedTexts(),
      publicUrl: ports.publicUrl,
      shared: {
        clock,
        random,
        signal: ports.signal,
        check: ports.check,
        hasher,
      },
    },
    tarpit: new Tarpit(clock),
    proxies,
    hosts: new Hosts(address.host, ports.publicUrl),
    welcome: welcomePages({
      hasConsole: ports.console !== undefined,
      hasDocs: ports.pages !== undefined,
    }),
  }
  const listener = await listen({
    address,
    clock,
    log,
    maxConnections: MAX_CONNECTIONS,
    onRequest: (req, res, connection) => {
      // A client is anonymous until its session is found.
      connection.mayEvict(proxies.clientOf(req))
      if (isHealthRequest(req)) void answerHealth(res, ports)
      else eventLoopPacer.schedule(() => void handle(req, res, { ...parts, connection }, ports))
    },
    rejectionAnswer: rejection => {
      const requestId = newRequestId(ports)
      return {
        headers: { ...HEADERS, 'x-request-id': requestId, 'content-type': PROBLEM_TYPE },
        body: problemBody(asRejected(rejection), requestId),
      }
    },
  })
  return {
    url: listener.url,
    get connections() {
      return listener.connections
    },
    close(...words) {
      closing.abort()
      return listener.close(...words)
    },
  }
}

interface Parts {
  readonly proxies: TrustedProxies
  readonly hosts: Hosts
  readonly connection: ServedConnection
  readonly router: OperationRouter
  readonly operations: OperationPorts
  readonly tarpit: Tarpit
  readonly welcome: ReturnType<typeof welcomePages>
}

async function handle(
  req: IncomingMessage,
  res: ServerResponse,
  { router, operations, tarpit, hosts, proxies, connection, welcome }: Parts,
  ports: ControlPorts,
): Promise<void> {
  const startedMs = ports.clock.monotonicMs()
  const requestId = newRequestId(ports)
  const address = proxies.clientOf(req)
  const headers = { ...HEADERS, 'x-request-id': requestId }
  const seen: Record<string, unknown> = { request_id: requestId, method: req.method, address }
  let failure: unknown
  try {
    const rejection = rejectionOf(req)
    if (rejection) throw asRejected(rejection)
    hosts.assertKnown(req.headers.host)
    const page = pageFor(req, ports)
    if (page) sendPage(req, res, page, headers)
    else if (leadsToConsole(req, ports)) res.writeHead(302, { ...headers, location: CONSOLE_PATH }).end()
    else if (isReadOf(req, '/')) sendPage(req, res, welcomeFor(req, welcome), headers)
    else {
      const { id, params, query } = matchOperation(req, router)
      seen['operation'] = id
      const operationCall = { id, params, query, requestId, address }
      const { user } = await serveOperation(req, res, operationCall, { ...operations, connection, headers })
      if (user !== undefined) seen['user'] = user
    }
  } catch (thrown) {
    failure = thrown
    const error = asApiError(thrown)
    seen['error_code'] = error.code
    if (DELAYED_CODES.has(error.code)) await tarpit.delay(res)
    if (res.headersSent) res.destroy()
    else sendProblem(res, error, requestId, { ...headers, ...(isRejected(req) && { connection: 'close' }) })
  }
  const record = {
    ...seen,
    status: res.statusCode,
    ms: Math.round(ports.clock.monotonicMs() - startedMs),
  }
  if (res.statusCode >= 500 && seen['error_code'] !== 'busy')
    ports.log.error({ ...record, err: causeOf(failure) }, 'control')
  else ports.log.info(record, 'control')
}

/** @throws {ApiError} unknown_path, method_not_allowed */
function matchOperation(req: IncomingMessage, router: OperationRouter) {
  const { path, query } = targetOf(req)
  const match = router.match(req.method ?? '', path)
  if (match.found) return { ...match, query }
  if (match.allow.length === 0) throw new ApiError('unknown_path')
  throw new ApiError('method_not_allowed', undefined, { headers: { allow: match.allow.join(', ') } })
}

/** @throws {ApiError} method_not_allowed */
function pageFor(
  req: IncomingMessage,
  { pages, console }: Pick<ControlPorts, 'pages' | 'console'>,
): Page | undefined {
  const { path } = targetOf(req)
  const page = console?.pageAt(path) ?? pages?.get(path)
  if (!page || req.method === 'GET' || req.method === 'HEAD') return page
  throw new ApiError('method_not_allowed', undefined, { headers: { allow: 'GET, HEAD' } })
}

/** The URL that `gw serve` prints opens the console in a browser. */
function leadsToConsole(req: IncomingMessage, { console }: Pick<ControlPorts, 'console'>): boolean {
  if (!console) return false
  return isReadOf(req, '/console') || (isReadOf(req, '/') && wantsHtml(req.headers.accept))
}

/** The description at `/`, for programs, and for browsers without a console. */
function welcomeFor(req: IncomingMessage, { html, json }: Parts['welcome']): Page {
  return wantsHtml(req.headers.accept) ? html : json
}

function isReadOf(req: IncomingMessage, path: string): boolean {
  return targetOf(req).path === path && (req.method === 'GET' || req.method === 'HEAD')
}

/** The raw path, and the query with its question mark. */
function targetOf({ url = '' }: IncomingMessage): { readonly path: string; readonly query: string } {
  const cut = url.indexOf('?')
  return cut === -1 ? { path: url, query: '' } : { path: url.slice(0, cut), query: url.slice(cut) }
}

function isHealthRequest(req: IncomingMessage): boolean {
  return req.url === '/health' && (req.method === 'GET' || req.method === 'HEAD') && !rejectionOf(req)
}

async function answerHealth(res: ServerResponse, ports: ControlPorts): Promise<void> {
  const requestId = newRequestId(ports)
  const headers = { ...HEADERS, 'x-request-id': requestId }
  try {
    const { httpStatus, json } = await ports.health()
    // The body is that of the gateway's `/health`; this header reveals that it is the control plane's port.
    sendJson(res, httpStatus, json, { ...headers, 'x-gw-service': 'control' })
  } catch (thrown) {
    ports.log.error({ request_id: requestId, err: thrown }, 'health')
    sendProblem(res, asApiError(thrown), requestId, headers)
  }
}

function isRejected(req: IncomingMessage): boolean {
  return rejectionOf(req) !== undefined
}

/** The cause for the log; the client does not see it. */
function causeOf(thrown: unknown): unknown {
  return thrown instanceof ApiError ? (thrown.cause ?? thrown) : thrown
}

function newRequestId({ random }: Pick<UseCasePorts, 'random'>): string {
  return `req_${Buffer.from(random.bytes(ID_BYTES)).toString('hex')}`
}
