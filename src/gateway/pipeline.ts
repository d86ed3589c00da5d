import type { IncomingMessage, ServerResponse } from 'node:http'
import { admit, checkStanding } from '../admission/authorise.ts'
import { identify } from '../admission/identify.ts'
import { GwError } from '../base/catalogue/wire.ts'
import type { Chance } from '../base/chance.ts'
import type { Clock } from '../base/clock.ts'
import { type Edit, extract, splice } from '../base/splice.ts'
import { UsageReader } from '../metering/usage.ts'
import { filterFor, isEventStream } from '../relay/answer/choose.ts'
import { fromStatus } from '../relay/classify.ts'
import { Exchange } from '../relay/exchange.ts'
import { headerValue, responseHeaders } from '../relay/headers.ts'
import { askForUsage } from '../relay/include-usage.ts'
import type { Pools } from '../relay/pools.ts'
import type { Head, UpstreamRequest } from '../relay/types.ts'
import { pick } from '../routing/candidates.ts'
import type { KeyEntry, Snapshot, Target } from '../snapshot/types.ts'
import { type Call, readCall } from './call.ts'
import { type Delivered, Delivery } from './delivery.ts'
import type { InferencePath } from './endpoints.ts'
import { asGwError, errorEvent, idHeaders } from './rescue.ts'
import type { Trace } from './trace.ts'

export interface PipelinePorts {
  /** The snapshot of this moment; undefined before the first. */
  readonly current: () => Snapshot | undefined
  readonly pools: Pools
  readonly clock: Clock
  readonly chance: Chance
}

/** The client has left; nobody is there to be answered. */
export const CLIENT_GONE: Delivered = { outcome: 'client_gone' }

/**
 * One inference request, from its first byte to its record.
 *
 *     identify ──▶ read ──▶ admit ──▶ route ──▶ exchange ──▶ deliver ──▶ settle ──▶ last bytes
 *        │          │         │         │          │            │
 *       401      400 413     403    404 503     502 504    error event,
 *       503 403    415       404                   429      or a cut
 *
 * Any stage may throw; `rescue` alone answers for it. The snapshot is taken once: a reload never changes a request
 * midway. A client that leaves aborts the upstream at once, wherever the request stands.
 */
export async function serveInference(
  req: IncomingMessage,
  res: ServerResponse,
  path: InferencePath,
  query: string,
  trace: Trace,
  ports: PipelinePorts,
): Promise<Delivered> {
  const { snapshot, key } = enter(req, trace, ports)
  const call = await readCall(req, snapshot.bodyLimitBytes)
  if (!call) return CLIENT_GONE
  trace.stream = call.stream
  const { publication } = admit(key, snapshot, call.model)
  trace.model = publication.name
  const target = pick(publication, path.protocol, ports.chance)
  trace.endpoint = target.endpoint.name

  const { edits, hideUsage } = editsFor(call, target, path)
  const reader = path.dialect && new UsageReader(path.dialect)
  const exchange = new Exchange(
    upstreamRequest(req, call, edits, target, path, query),
    ports.pools,
    ports.clock,
  )
  const leave = () => exchange.abort(new ClientGone())
  res.once('close', leave)
  try {
    const head = await exchange.head
    const refusal = fromStatus(head.status, target.endpoint.name, headerValue(head.headers, 'retry-after'))
    if (refusal) throw refusal
    const filter = filterFor(head, {
      protocol: path.protocol,
      nameJson: publication.nameJson,
      servedModel: target.servedModel,
      hideUsage,
      observer: {
        onMember: (name, json) => reader?.observe(name, json),
        onBytes: () => undefined,
      },
    })
    return await new Delivery({
      exchange,
      filter,
      res,
      status: head.status,
      headers: answerHeaders(head, snapshot, target, trace),
      ...(isEventStream(filter) && {
        inBand: error => errorEvent(asGwError(error), path.protocol, trace.requestId),
      }),
      settle: async () => {
        trace.usage = reader?.read()
      },
      onFirstByte: () => trace.firstByte(),
    }).run()
  } catch (error) {
    if (error instanceof ClientGone || res.destroyed) return CLIENT_GONE
    exchange.abort(asGwError(error))
    throw error
  } finally {
    // Also of an answer that broke off: what the upstream has reported by then, it will charge.
    trace.usage ??= reader?.read()
    res.off('close', leave)
  }
}

/**
 * What every path under `/v1` asks first: a snapshot, a key, and its standing.
 *
 * @throws {GwError} unavailable, invalid_api_key, maintenance, tenant_disabled, tenant_banned.
 */
export function enter(
  req: IncomingMessage,
  trace: Trace,
  ports: Pick<PipelinePorts, 'current' | 'clock'>,
): { snapshot: Snapshot; key: KeyEntry } {
  const snapshot = ports.current()
  if (!snapshot) throw new GwError('unavailable', 'The gateway is starting.', { retryAfterMs: 1_000 })
  trace.revision = snapshot.revision
  const key = identify(req.rawHeaders, snapshot, ports.clock.nowMs())
  trace.key = key
  checkStanding(key, snapshot)
  return { snapshot, key }
}

class ClientGone extends Error {
  override readonly name = 'ClientGone'
}

/** The changes to a body: the served name, and the question for usage where the client did not ask it. */
function editsFor(call: Call, target: Target, path: InferencePath): { edits: Edit[]; hideUsage: boolean } {
  const { start, end } = call.modelAt
  const named: Edit = { start, end, bytes: target.servedJson }
  if (path.dialect !== 'openai_chat' || !call.stream) return { edits: [named], hideUsage: false }
  const at = call.streamOptionsAt
  const options = at && { start: at.start, end: at.end, json: extract(call.pieces, at.start, at.end) }
  const asked = askForUsage(options, call.objectStart)
  return { edits: [...asked, named].sort((a, b) => a.start - b.start), hideUsage: asked.length > 0 }
}

function upstreamRequest(
  req: IncomingMessage,
  call: Call,
  edits: readonly Edit[],
  target: Target,
  path: InferencePath,
  query: string,
): UpstreamRequest {
  const grown = edits.reduce((sum, edit) => sum + edit.bytes.length - (edit.end - edit.start), 0)
  return {
    upstream: target.endpoint,
    pathAndQuery: path.suffix + query,
    headers: req.rawHeaders,
    body: splice(call.pieces, edits),
    lengthBytes: call.lengthBytes + grown,
  }
}

function answerHeaders(head: Head, snapshot: Snapshot, target: Target, trace: Trace): string[] {
  const lines = responseHeaders(head.headers)
  for (const [name, value] of Object.entries(idHeaders(trace.protocol, trace.requestId)))
    lines.push(name, value)
  lines.push('x-gw-endpoint', target.endpoint.name, 'x-gw-revision', String(snapshot.revision))
  return lines
}
