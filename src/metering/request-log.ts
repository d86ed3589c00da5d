import { formatNano } from '../base/decimal.ts'
import type { Log } from '../base/log.ts'
import type { Protocol } from '../schema/endpoint.ts'
import type { Charge } from './bill.ts'

/** How a request ended. */
export type Outcome = 'answered' | 'refused' | 'failed' | 'client_gone' | 'broken'

/** What is known of a request when it has ended. Never a prompt, never a secret. */
export interface RequestRecord {
  readonly requestId: string
  readonly method: string
  readonly path: string
  readonly protocol: Protocol
  readonly outcome: Outcome
  /** The status that the client was sent; 0 where it left before one. */
  readonly status: number
  readonly errorCode?: string
  /** Why, for the operator; the client was not told. */
  readonly reason?: string
  readonly cause?: unknown
  readonly revision?: number
  readonly key?: string
  readonly tenant?: string
  readonly model?: string
  readonly endpoint?: string
  readonly stream?: boolean
  readonly charge?: Charge
  readonly latencyMs: number
  /** Until the first byte of the answer went to the client. */
  readonly firstByteMs?: number
  /** Between the last byte of the request and its dispatch; absent where it was never dispatched. */
  readonly overheadMs?: number
  /** In their order, the last one included; absent where there was at most the one that `endpoint` names. */
  readonly attempts?: readonly Attempt[]
}

/** One attempt to have an upstream answer. */
export interface Attempt {
  readonly endpoint: string
  /** Why it failed; absent where its answer was the one that the client got. */
  readonly errorCode?: string
}

/** Writes one line for each request, under the names that OpenTelemetry and the gateway's wire use. */
export function logRequest(log: Log, record: RequestRecord): void {
  const { charge } = record
  const usage = charge?.usage
  const line = {
    request_id: record.requestId,
    method: record.method,
    path: record.path,
    outcome: record.outcome,
    status: record.status,
    error_code: record.errorCode,
    reason: record.reason,
    revision: record.revision,
    key: record.key,
    tenant: record.tenant,
    model: record.model,
    endpoint: record.endpoint,
    stream: record.stream,
    input_tokens: usage?.inputTokens,
    cached_input_tokens: usage?.cachedInputTokens,
    cache_write_tokens: usage?.cacheWriteTokens,
    output_tokens: usage?.outputTokens,
    search_units: usage?.searchUnits,
    cost: charge && formatNano(charge.amountNano),
    marks: charge && charge.marks.length > 0 ? charge.marks : undefined,
    latency_ms: Math.round(record.latencyMs),
    first_byte_ms: record.firstByteMs === undefined ? undefined : Math.round(record.firstByteMs),
  }
  if (record.errorCode === 'internal_error') log.error({ ...line, err: record.cause }, 'request')
  else log.info(line, 'request')
}
