import { ApiError } from '../base/catalogue/api.ts'
import { pause } from '../base/clock.ts'
import type { OperationOf } from '../schema/api/operations.ts'
import type { AnswerOf, BodyOf } from '../schema/api/types.ts'
import { modelName } from '../schema/scalars.ts'
import { callToJson } from '../store/ledger/to-json.ts'
import { record } from './audit.ts'
import { type CallFilters, forTenant, ownTenant, seesEndpoints } from './calls.ts'
import type { Context } from './context.ts'
import { servingUrl } from './gateways.ts'
import { reachable } from './live-stats/ask-gateway.ts'
import { readCurrency } from './settings.ts'

/** The data of one event. */
export type PlaygroundEvent = AnswerOf<OperationOf<'call_playground'>>

/** How long the line of a call takes until it is in the store: the journal is folded every 100 ms. */
const LOGGED_MS = 3_000
const CHECK_MS = 50

/**
 * Relays a call to a gateway of the store, as an application would send it. Only gateways of the store are asked.
 *
 * @param left aborted when the reader leaves, which ends the call as the gateway ends it for any client.
 * @throws {ApiError} no_gateway
 */
export async function* callPlayground(
  context: Context,
  { secret, path, body }: BodyOf<OperationOf<'call_playground'>>,
  left: AbortSignal,
): AsyncGenerator<PlaygroundEvent> {
  const { clock } = context
  const url = await gatewayUrl(context)
  const model = modelName.safeParse(body['model'])
  await record(context, {
    action: 'call_playground',
    ...(model.success && { target: `publication/${model.data}` }),
  })
  const startedMs = clock.monotonicMs()
  const answer = await ask(new URL(path, url), secret, body, left)
  const requestId = answer.headers.get('x-request-id')
  yield {
    event: 'head',
    status: answer.status,
    request_id: requestId,
    content_type: answer.headers.get('content-type'),
  }
  let firstByteMs: number | null = null
  const decoder = new TextDecoder()
  for await (const piece of answer.body ?? []) {
    firstByteMs ??= clock.monotonicMs() - startedMs
    yield { event: 'data', text: decoder.decode(piece as Uint8Array, { stream: true }) }
  }
  const totalMs = clock.monotonicMs() - startedMs
  yield {
    event: 'end',
    first_byte_ms: firstByteMs,
    total_ms: totalMs,
    call: requestId === null ? null : await loggedCall(context, requestId, left),
  }
}

/** @throws {ApiError} no_gateway */
async function gatewayUrl(context: Context): Promise<string> {
  const url = await servingUrl(context)
  if (url === undefined) throw new ApiError('no_gateway')
  return reachable(url)
}

/** @throws {ApiError} no_gateway */
async function ask(url: URL, secret: string, body: object, signal: AbortSignal): Promise<Response> {
  try {
    return await fetch(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      redirect: 'error',
      signal,
    })
  } catch (error) {
    signal.throwIfAborted()
    throw new ApiError('no_gateway', `The gateway at ${url.origin} does not answer.`, { cause: error })
  }
}

/** The line of the call log; null if the gateway rejected the call before its dispatch. */
async function loggedCall({ store, clock, actor }: Context, requestId: string, left: AbortSignal) {
  // A secret of another tenant calls for that tenant, and shows nothing of it here.
  const wanted: CallFilters = { requestId }
  const own = ownTenant(wanted, actor)
  const deadline = clock.monotonicMs() + LOGGED_MS
  while (clock.monotonicMs() < deadline && !left.aborted) {
    const [call] = await store.accounting.callLogs({ ...own, limit: 1 })
    if (call) {
      const shown = actor.tenant === undefined ? call : forTenant(call, await seesEndpoints({ store, actor }))
      return callToJson(shown, await readCurrency(store))
    }
    const [rejected] = await store.accounting.rejectedCalls({ ...own, limit: 1 })
    if (rejected) return null
    await pause(clock, CHECK_MS, left)
  }
  return null
}
