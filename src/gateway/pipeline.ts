import type { IncomingMessage, ServerResponse } from 'node:http'
import { GwError } from '../base/catalogue/wire.ts'
import type { Random } from '../base/random.ts'
import type { ByteCapacity } from '../http/byte-capacity.ts'
import type { SpoolFolder } from '../http/spool.ts'
import { admit, checkStanding } from '../limits/authorise.ts'
import { measureContent } from '../limits/content.ts'
import { identify } from '../limits/identify.ts'
import type { CallTracer } from '../metering/trace.ts'
import type { InferencePath } from '../schema/paths.ts'
import type { KeyEntry, Snapshot } from '../snapshot/types.ts'
import { Route, type RoutePorts } from '../upstream/routing/route.ts'
import { type Call, readCall } from './call.ts'
import { CLIENT_GONE, type Delivered } from './endings.ts'
import { ProxiedRequest, type ProxyPorts } from './proxied-request.ts'
import { readUpload } from './read-upload.ts'
import type { RequestContext } from './request-context.ts'
import { continued, locate } from './stored-responses.ts'

export interface PipelinePorts extends ProxyPorts {
  /** The current snapshot; undefined before the first. */
  readonly current: () => Snapshot | undefined
  readonly routing: RoutePorts
  readonly random: Random
  /** For large bodies of JSON. */
  readonly memory: ByteCapacity
  /** For bodies that are too large for memory. */
  readonly spools: SpoolFolder
  /** Absent: calls are not traced. */
  readonly tracer?: CallTracer
}

/**
 * One inference request, from its first byte to its bill.
 *
 *     identify ──▶ read ──▶ admit ──▶ route ──▶ hold ──▶ exchange ──▶ deliver ──▶ settle ──▶ last bytes
 *        │          │         │         │  ▲     │        │   │          │
 *       401      400 413     403    404 503 │  402 429    │ 502 504   error event,
 *       503 403    415       404            │    503      │ 429 503   or a cut
 *                  503                      └─ next one ──┘
 *
 * Any stage may throw; only `answerError` (server.ts) answers. The snapshot is taken once: a reload never changes a
 * request in progress. A client disconnect aborts the upstream at once, in any stage. The permit is held until the last
 * byte, not until the head: an open stream occupies a model server.
 */
export async function serveInference(
  req: IncomingMessage,
  res: ServerResponse,
  path: InferencePath,
  query: string,
  context: RequestContext,
  ports: PipelinePorts,
): Promise<Delivered> {
  context.trace = ports.tracer?.begin(req.headers, path.dialect ?? 'count_tokens')
  const { snapshot, key } = enter(req, context, ports)
  const kind = path.dialect ? 'inference' : 'count'
  context.rateHeaders = () => ports.limiter.rateHeaders(path.protocol, key, kind)
  checkStanding(key, snapshot)
  const call = path.upload
    ? await readUpload(req, path, snapshot.bodyLimitBytes, ports.spools)
    : await readCall(req, path, snapshot.bodyLimitBytes, ports.memory)
  if (!call) return CLIENT_GONE
  const entered = { snapshot, key, path, query, context, call, res }
  if (!call.upload && !call.held) return serveCall(entered, ports)
  try {
    return await serveCall(entered, ports)
  } finally {
    call.held?.release()
    await call.upload?.close()
  }
}

/** A request whose body has been read. */
interface Entered {
  readonly snapshot: Snapshot
  readonly key: KeyEntry
  readonly path: InferencePath
  readonly query: string
  readonly context: RequestContext
  readonly call: Call
  readonly res: ServerResponse
}

async function serveCall(
  { snapshot, key, path, query, context, call, res }: Entered,
  ports: PipelinePorts,
): Promise<Delivered> {
  context.bodyRead()
  context.stream = call.stream
  context.askedModel = call.model
  const permit = admit(key, snapshot, call.model)
  context.model = permit.publication.name
  const content = call.upload?.content ?? measureContent(call, path.fields.content, path.protocol)
  const location = path.fields.refersToStored
    ? await locate(call, content, key, snapshot, ports.ledger)
    : undefined
  const route = new Route(permit.publication, path, ports.routing, sourceOf(key), location?.keeper)
  context.routedTo(route.target.endpoint)

  const isStored = path.fields.refersToStored && call.fields['store']?.kind !== 'false'
  const storedForMs = isStored ? snapshot.responseRetentionMs : undefined
  const input = location ? continued(content, location.tokens) : content
  const request = new ProxiedRequest(
    {
      res,
      context,
      path,
      query,
      permit,
      call,
      content: input,
      route,
      storedForMs,
      isStored: location !== undefined,
    },
    ports,
  )
  await request.open()
  const { bill } = request
  context.bill = bill
  context.isCall = bill !== undefined && (path.dialect !== 'embeddings' || snapshot.logEmbeddings)
  return request.forward()
}

/** The source of a request for failure counts: all keys of a tenant are one source. */
export function sourceOf({ account, tenant }: KeyEntry): string {
  return tenant ? `tenant ${tenant.account}` : `key ${account}`
}

/**
 * The first stage of every path under `/v1`: takes the snapshot and identifies the key.
 *
 * @throws {GwError} unavailable, invalid_api_key.
 */
export function enter(
  req: IncomingMessage,
  context: RequestContext,
  ports: Pick<PipelinePorts, 'current' | 'clock'>,
): { snapshot: Snapshot; key: KeyEntry } {
  const snapshot = ports.current()
  if (!snapshot) throw new GwError('unavailable', 'The gateway is starting.', { retryAfterMs: 1_000 })
  context.revision = snapshot.revision
  context.showsEndpoints = snapshot.showEndpoints
  const key = identify(req.rawHeaders, snapshot, ports.clock.nowMs())
  context.key = key
  return { snapshot, key }
}
