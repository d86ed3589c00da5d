import type { IncomingMessage, ServerResponse } from 'node:http'
import { admit, checkStanding } from '../admission/authorise.ts'
import { identify } from '../admission/identify.ts'
import { GwError } from '../base/catalogue/wire.ts'
import type { Chance } from '../base/chance.ts'
import type { Log } from '../base/log.ts'
import type { AnswerEnding } from '../metering/answer-meter.ts'
import { filterFor, isEventStream } from '../relay/answer/choose.ts'
import { fromStatus } from '../relay/classify.ts'
import { Exchange } from '../relay/exchange.ts'
import { headerValue } from '../relay/headers.ts'
import type { Pools } from '../relay/pools.ts'
import type { UpstreamRequest } from '../relay/types.ts'
import { pick } from '../routing/candidates.ts'
import type { KeyEntry, PublicationEntry, Snapshot, Target } from '../snapshot/types.ts'
import { type Account, type AccountPorts, openAccount } from './account.ts'
import { readCall } from './call.ts'
import { CLIENT_GONE, ClientGone, type Delivered, Delivery } from './delivery.ts'
import type { Drains } from './drains.ts'
import type { InferencePath } from './endpoints.ts'
import { asGwError, errorEvent } from './rescue.ts'
import { answerHeaders, editsFor, upstreamRequest } from './rewrite.ts'
import type { Trace } from './trace.ts'
import { Interrupted, type Underway, type Visit } from './underway.ts'

export interface PipelinePorts extends AccountPorts {
  /** The snapshot of this moment; undefined before the first. */
  readonly current: () => Snapshot | undefined
  readonly pools: Pools
  readonly drains: Drains
  readonly underway: Underway
  readonly chance: Chance
  readonly log: Log
}

/**
 * One inference request, from its first byte to its bill.
 *
 *     identify ──▶ read ──▶ admit ──▶ route ──▶ hold ──▶ exchange ──▶ deliver ──▶ settle ──▶ last bytes
 *        │          │         │         │        │          │            │
 *       401      400 413     403    404 503   402 429    502 504    error event,
 *       503 403    415       404                503        429      or a cut
 *
 * Any stage may throw; `rescue` alone answers for it. The snapshot is taken once: a reload never changes a request
 * midway. A client that leaves aborts the upstream at once, wherever the request stands. The permit is held until
 * the last byte has gone, not until the head has: an open stream is what occupies a model server.
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
  const kind = path.dialect ? 'inference' : 'count'
  trace.rateHeaders = () => ports.limiter.rateHeaders(path.protocol, key, kind)
  checkStanding(key, snapshot)
  const call = await readCall(req, snapshot.bodyLimitBytes)
  if (!call) return CLIENT_GONE
  trace.bodyRead()
  trace.stream = call.stream
  const permit = admit(key, snapshot, call.model)
  trace.model = permit.publication.name
  const target = pick(permit.publication, path.protocol, ports.chance)
  trace.endpoint = target.endpoint.name

  const visit = ports.underway.enter()
  let account: Account | undefined
  try {
    account = await openAccount(trace.requestId, permit, call, target, path.dialect, ports)
    trace.bill = account.bill
    trace.isCall = account.bill !== undefined && (path.dialect !== 'embeddings' || snapshot.logEmbeddings)
    // Whoever left while the hold was written is not dispatched for.
    if (res.destroyed) {
      end(account.bill?.release('client_gone'), ports)
      return CLIENT_GONE
    }
    const { edits, hideUsage } = editsFor(call, target, path)
    const request = upstreamRequest(req, call, edits, target, path, query)
    const publication = permit.publication
    const drains = snapshot.onDisconnect === 'drain' ? ports.drains : undefined
    trace.dispatched()
    return await forward(
      { request, res, path, target, publication, hideUsage, account, trace, drains, visit },
      ports,
    )
  } finally {
    account?.leave()
    visit.leave()
  }
}

/**
 * What every path under `/v1` asks first: a snapshot, and a key.
 *
 * @throws {GwError} unavailable, invalid_api_key.
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
  return { snapshot, key }
}

interface Forwarding {
  readonly request: UpstreamRequest
  readonly res: ServerResponse
  readonly path: InferencePath
  readonly target: Target
  readonly publication: PublicationEntry
  readonly hideUsage: boolean
  readonly account: Account
  readonly trace: Trace
  readonly drains: Drains | undefined
  readonly visit: Visit
}

/** Sends a request upstream and its answer down, and ends its bill by what came of it (MONEY, "What is charged"). */
async function forward(forwarding: Forwarding, ports: PipelinePorts): Promise<Delivered> {
  const { request, res, path, target, publication, hideUsage, account, trace, drains, visit } = forwarding
  const { bill, meter } = account
  const exchange = new Exchange(request, ports.pools, ports.clock)
  const leave = () => exchange.abort(new ClientGone())
  res.once('close', leave)
  visit.interruptible(error => exchange.abort(error))
  try {
    const head = await exchange.head
    res.off('close', leave)
    const refusal = fromStatus(head.status, target.endpoint.name, headerValue(head.headers, 'retry-after'))
    if (refusal) throw refusal
    const filter = filterFor(head, {
      protocol: path.protocol,
      nameJson: publication.nameJson,
      servedModel: target.servedModel,
      hideUsage,
      observer: meter ?? UNMETERED,
    })
    const isAnswer = head.status < 400
    /** Ends the bill of an answer that was not whole; a second time changes nothing. */
    const conclude = (delivered: Delivered) => {
      const ending = endingOf(delivered)
      if (ending && !isAnswer) end(bill?.release(`upstream_${head.status}`), ports)
      else if (ending === 'broken' && !meter?.began)
        end(bill?.release(asGwError(delivered.error).code), ports)
      else if (ending) end(bill?.settle(ending), ports)
    }
    const delivered = await new Delivery({
      exchange,
      clock: ports.clock,
      filter,
      res,
      status: head.status,
      headers: answerHeaders(head, target, trace),
      ...(isEventStream(filter) && {
        inBand: error => errorEvent(asGwError(error), path.protocol, trace.requestId),
      }),
      settle: async () => {
        if (isAnswer && !filter.failed) await bill?.settle('answered')
        else if (isAnswer && meter?.began) await bill?.settle('broken')
        else if (isAnswer) await bill?.release(TOLD_INSIDE.code)
        else await bill?.release(`upstream_${head.status}`)
      },
      onBroken: error => conclude({ outcome: 'broken', error }),
      onFirstByte: () => trace.firstByte(),
      drains,
    }).run()
    conclude(delivered)
    return filter.failed && delivered.outcome === 'answered'
      ? { outcome: 'broken', error: TOLD_INSIDE }
      : delivered
  } catch (error) {
    const isGone = error instanceof ClientGone || res.destroyed
    exchange.abort(asGwError(error))
    if (meter?.began) end(bill?.settle(isGone ? 'client_gone' : brokenBy(error)), ports)
    else end(bill?.release(isGone ? 'client_gone' : asGwError(error).code), ports)
    if (isGone) return CLIENT_GONE
    throw error
  } finally {
    res.off('close', leave)
  }
}

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

/** Nobody waits for these ends: no byte hangs on them. The ledger keeps them until they are committed. */
function end(ended: Promise<void> | undefined, { log }: Pick<PipelinePorts, 'log'>): void {
  ended?.catch((error: unknown) => log.error({ err: error }, 'a bill was not committed'))
}

const UNMETERED = { onMember: () => undefined, onText: () => undefined }
