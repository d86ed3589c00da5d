import type { IncomingMessage, ServerResponse } from 'node:http'
import { ApiError } from '../base/catalogue/api.ts'
import type { Log } from '../base/log.ts'
import type { ServedConnection } from '../http/connection.ts'
import { drained } from '../http/drained.ts'
import { sendJson } from '../http/json.ts'
import { type OperationId, operation } from '../schema/api/operations.ts'
import { isCounted } from '../schema/api/permissions.ts'
import type { Operation } from '../schema/api/types.ts'
import type { Context } from '../services/context.ts'
import type { AnonymousContext, Sessions } from '../services/sessions.ts'
import type { Store } from '../store/types.ts'
import { allow, assertReachable } from './authorise.ts'
import type { Call, Caller, Handler, Handlers, Reply } from './call.ts'
import type { ChangeRate } from './change-rate.ts'
import { pointerOf } from './member-names.ts'
import { checked, checkedQuery, readJson, versionOf } from './reading.ts'
import { assertSameSite, presentedCredential, type SessionCookie } from './session/credentials.ts'
import type { SharedTexts } from './shared-texts.ts'

export interface OperationPorts {
  readonly store: Store
  readonly log: Log
  readonly handlers: Handlers
  readonly sessions: Sessions
  readonly cookie: SessionCookie
  readonly changeRate: ChangeRate
  readonly texts: SharedTexts
  /** The parts of a context that all operations share. */
  readonly shared: Pick<Context, 'clock' | 'random' | 'signal' | 'check' | 'hasher'>
  /** The URL of the control plane for browsers, if it differs from their `host` header. */
  readonly publicUrl: URL | undefined
}

/** The connection, and the common headers of an answer. */
export interface AnswerPorts {
  readonly connection: ServedConnection
  /** Sent with every answer. */
  readonly headers: Readonly<Record<string, string>>
}

/** A request with a known operation. */
export interface OperationCall {
  readonly id: OperationId
  readonly params: Readonly<Record<string, string>>
  /** With its question mark; empty without a query. */
  readonly query: string
  readonly requestId: string
  readonly address: string
}

const BODY_BYTES = 262_144
const CONFIG_BYTES = 16 * 1_048_576
/** The body limit before authentication: a name and a password, each character an escape. */
const ANONYMOUS_BYTES = 16_384
/** The body timeout before authentication. */
const ANONYMOUS_MS = 5_000

/**
 * Serves one operation of the control plane.
 *
 *     admit ──▶ read ──▶ admit ──▶ check ──▶ handle ──▶ answer
 *       │         │        │         │         │
 *    401 403   400 408    401     422 428   401 404 409
 *      404     413 415  403 404     404     412 422 429 503
 *
 * Any stage may throw; `error-response` sends the answer. A body is read only if its sender may send it, and the
 * rights are checked again after its last byte: a body may take an hour, and the session may end meanwhile. A handler
 * changes a store that checks the session once more in the transaction.
 */
export async function serveOperation(
  req: IncomingMessage,
  res: ServerResponse,
  operationCall: OperationCall,
  { connection, headers, ...ports }: OperationPorts & AnswerPorts,
): Promise<{ readonly status: number; readonly user?: string }> {
  const { id } = operationCall
  const op: Operation = operation(id)
  const isChange = op.method !== 'GET'
  let caller = await admit(req, operationCall, ports)
  const version = op.ifMatch && versionOf(req, op.ifMatch === 'required')
  const params = op.params && paramsIn(op, operationCall.params)
  const query = checkedQuery(op.query, operationCall.query)
  // The connections of one user must not be all that there are.
  if (caller) connection.mayEvict(`user ${caller.name}`)
  else connection.limitBody(ANONYMOUS_MS)
  const sent = isChange ? await readJson(req, limitBytesOf(op, caller)) : undefined
  if (isChange) caller = await admit(req, operationCall, ports)
  if (caller?.tenant !== undefined && isCounted(id)) ports.changeRate.take(caller.tenant)
  if (isChange && op.body && !sent) throw new ApiError('invalid_json', 'This operation needs a body.')
  const json = sent ?? {}
  const body = op.body ? checked(op.body, json) : assertEmpty(json)

  const device = ports.cookie.deviceOf(req)
  // Safe: the table and the handler types are checked against each other at compile time.
  const handler = ports.handlers[id] as Handler<OperationId>
  const call = {
    params,
    query,
    body,
    json,
    caller,
    context: contextOf(operationCall, caller, ports),
    address: operationCall.address,
    ...(device !== undefined && { device }),
    ...(!caller && { replaced: presentedCredential(req, ports.cookie.name) }),
    requestId: operationCall.requestId,
    hasLeft: () => res.destroyed,
    left: closeOf(res),
    assertSameSite: () => assertSameSite(req, undefined, ports.publicUrl),
    ...(version !== undefined && { version }),
  } as unknown as Call<OperationId>
  const reply = await handler(call)
  // Safe: the type of a reply follows the table.
  if (op.answer.isStream) await sendEvents(res, reply.body as unknown as Events, ports.texts, headers)
  else answer(res, op, reply, ports.texts, headers)
  const user = caller?.name ?? reply.user
  return { status: op.answer.status, ...(user !== undefined && { user }) }
}

function contextOf(
  { address, requestId }: OperationCall,
  caller: Caller | undefined,
  ports: OperationPorts,
): Context | AnonymousContext {
  const actor = { origin: 'rest', address, requestId } as const
  const context = { ...ports.shared, store: ports.store, auditLog: auditLog(ports) }
  if (!caller) return { ...context, actor }
  const { name, role, tenant, authority } = caller
  return {
    ...context,
    store: ports.store.withAuthority(authority),
    actor: { ...actor, name, role, ...(tenant !== undefined && { tenant }) },
  }
}

/**
 * The authorised caller, by the current state of the store.
 * @throws {ApiError} not_logged_in, forbidden, cross_site, not_found
 */
async function admit(
  req: IncomingMessage,
  { id, params }: OperationCall,
  { cookie, sessions, publicUrl, store }: OperationPorts,
): Promise<Caller | undefined> {
  const credential = presentedCredential(req, cookie.name)
  // An open page without input does not prolong its session.
  const isUse = req.headers['x-unattended'] === undefined
  const session = credential && (await sessions.find(credential.token, credential.carrier, isUse))
  const caller = allow(id, params, session)
  if (!caller) return undefined
  const { carrier, csrfToken } = caller.session
  if (carrier === 'cookie' && operation(id).method !== 'GET') assertSameSite(req, csrfToken, publicUrl)
  await assertReachable(id, params, caller, store)
  return caller
}

function limitBytesOf({ tag }: Operation, caller: Caller | undefined): number {
  if (!caller) return ANONYMOUS_BYTES
  return tag === 'config' ? CONFIG_BYTES : BODY_BYTES
}

function answer(
  res: ServerResponse,
  { answer: { status } }: Operation,
  { body, etag, headers: own }: Reply<OperationId>,
  texts: SharedTexts,
  headers: Readonly<Record<string, string>>,
): void {
  const all = { ...headers, ...(etag !== undefined && { etag: `"${etag}"` }), ...own }
  if (body === undefined) res.writeHead(status, all).end()
  else sendJson(res, status, texts.of(body), all)
}

type Events = AsyncIterable<{ readonly event: string }>

/** Sends events until they end or the client disconnects (HTML, "Server-sent events"). */
async function sendEvents(
  res: ServerResponse,
  events: Events,
  texts: SharedTexts,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  res.writeHead(200, { ...headers, 'content-type': 'text/event-stream' })
  for await (const data of events) {
    if (res.destroyed) return
    // A client that does not read gets no more until it does; the connection has a deadline for that.
    const hasRoom = res.write(`event: ${data.event}\ndata: ${texts.of(data)}\n\n`)
    if (!hasRoom && !res.destroyed) await drained(res)
  }
  res.end()
}

function closeOf(res: ServerResponse): AbortSignal {
  const closed = new AbortController()
  res.once('close', () => closed.abort())
  if (res.destroyed) closed.abort()
  return closed.signal
}

/** An invalid name is reported like an unknown one. */
function paramsIn({ params }: Operation, raw: Readonly<Record<string, string>>): unknown {
  const result = params?.safeParse(raw)
  if (result?.success) return result.data
  throw new ApiError('not_found')
}

/** @throws {ApiError} invalid_request if an operation without a body received one. */
function assertEmpty(json: Readonly<Record<string, unknown>>): undefined {
  const [name] = Object.keys(json)
  if (name === undefined) return undefined
  throw new ApiError('invalid_request', undefined, {
    errors: [{ pointer: pointerOf([name]), detail: 'this operation has no body' }],
  })
}

/**
 * The audit, written after the change. If that fails, the change remains and is reported as done; the log has the
 * missing line.
 */
function auditLog({ store, log }: OperationPorts): Context['auditLog'] {
  return {
    async record(line) {
      try {
        await store.users.record(line)
      } catch (error) {
        log.error({ err: error, audit: line }, 'cannot write the audit entry')
      }
    },
  }
}
