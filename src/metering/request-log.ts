import { formatNano } from '../base/decimal.ts'
import type { Log } from '../base/log.ts'
import type { Usage } from '../schema/ledger.ts'
import type { Protocol } from '../schema/protocol.ts'
import type { Charge } from './charge.ts'

/** How a request ended. */
export type Outcome = 'answered' | 'rejected' | 'failed' | 'client_gone' | 'broken'

/** The facts of an ended request. Never contains a prompt or a secret. */
export interface RequestRecord {
  readonly requestId: string
  readonly method: string
  readonly path: string
  readonly protocol: Protocol
  readonly outcome: Outcome
  /** The status sent to the client; 0 if the client disconnected before. */
  readonly status: number
  readonly errorCode?: string | undefined
  /** The reason for the operator; not sent to the client. */
  readonly reason?: string | undefined
  readonly cause?: unknown
  readonly revision?: number | undefined
  readonly key?: string | undefined
  readonly tenant?: string | undefined
  readonly model?: string | undefined
  readonly endpoint?: string | undefined
  /** Of an endpoint on nodes. */
  readonly node?: string | undefined
  readonly stream?: boolean | undefined
  readonly charge?: Charge | undefined
  readonly latencyMs: number
  /** Time until the first byte of the answer was sent. */
  readonly firstByteMs?: number | undefined
  /** Time between the last byte of the request and its dispatch; absent if it was never dispatched. */
  readonly overheadMs?: number | undefined
  /** Names of the shadow limits that would have rejected the request, such as `key_rpm`; absent: none. */
  readonly shadowRejections?: readonly string[] | undefined
  /** All attempts in order; absent if there was at most one, at `endpoint`. */
  readonly attempts?: readonly Attempt[] | undefined
  /** Present if the call is traced. */
  readonly trace?: TraceIds | undefined
}

/** The ids of a trace and of the span of a call, in hexadecimal. */
export interface TraceIds {
  readonly traceId: string
  readonly spanId: string
}

/** One attempt at an endpoint. */
export interface Attempt {
  readonly endpoint: string
  readonly node?: string | undefined
  /** Present if it failed. */
  readonly errorCode?: string
  /** The reason in full, for the operator: `one: ECONNREFUSED`. */
  readonly reason?: string | undefined
}

/** The failed ones: `one: upstream_error (ECONNREFUSED)`, `two on gpu-7: upstream_error (ECONNRESET)`. */
export function failedAttempts(attempts: readonly Attempt[]): readonly string[] {
  return attempts.flatMap(({ endpoint, node, errorCode, reason }) => {
    if (errorCode === undefined) return []
    const cause = reason?.startsWith(endpoint) ? reason.slice(endpoint.length).replace(/^:? /, '') : reason
    return [
      `${endpoint}${node === undefined ? '' : ` on ${node}`}: ${errorCode}${cause === undefined ? '' : ` (${cause})`}`,
    ]
  })
}

/** Writes one line for each request, under the names that OpenTelemetry and the gateway's wire use. */
export function logRequest(log: Log, record: RequestRecord): void {
  if (record.errorCode !== 'internal_error') return log.written(() => requestJson(record), 'request')
  const line = JSON.parse(`{${requestJson(record)}}`) as Record<string, unknown>
  log.error({ ...line, err: record.cause }, 'request')
}

/** Concatenated manually for speed: it runs for every request. */
function requestJson(record: RequestRecord): string {
  const { charge, trace } = record
  return (
    `"request_id":"${record.requestId}","method":${quoted(record.method)},"path":${quoted(record.path)}` +
    `,"outcome":"${record.outcome}","status":${record.status}` +
    text('error_code', record.errorCode) +
    text('reason', record.reason) +
    plain('revision', record.revision) +
    text('key', record.key) +
    text('tenant', record.tenant) +
    text('model', record.model) +
    text('endpoint', record.endpoint) +
    text('node', record.node) +
    (record.attempts ? attemptsJson(record.attempts) : '') +
    plain('stream', record.stream) +
    (record.shadowRejections ? `,"shadow_rejections":${JSON.stringify(record.shadowRejections)}` : '') +
    (charge ? chargeJson(charge) : '') +
    `,"latency_ms":${Math.round(record.latencyMs)}` +
    (record.firstByteMs === undefined ? '' : `,"first_byte_ms":${Math.round(record.firstByteMs)}`) +
    (trace ? `,"trace_id":"${trace.traceId}","span_id":"${trace.spanId}"` : '')
  )
}

function attemptsJson(attempts: readonly Attempt[]): string {
  return `,"attempts":${attempts.length},"failed_attempts":${JSON.stringify(failedAttempts(attempts))}`
}

function chargeJson({ usage, amountNano, flags }: Charge): string {
  return (
    `,"input_tokens":${usage.inputTokens},"cached_input_tokens":${usage.cachedInputTokens}` +
    `,"cache_write_tokens":${usage.cacheWriteTokens},"output_tokens":${usage.outputTokens}` +
    `,"search_units":${usage.searchUnits}${unitsJson(usage)},"cost":"${formatNano(amountNano)}"` +
    (flags.length > 0 ? `,"flags":${JSON.stringify(flags)}` : '')
  )
}

/** Only of paths that have one of them. */
function unitsJson({ durationMs, characters, images }: Usage): string {
  if (durationMs === 0 && characters === 0 && images === 0) return ''
  return `,"duration_ms":${durationMs},"characters":${characters},"images":${images}`
}

function text(name: string, value: string | undefined): string {
  return value === undefined ? '' : `,"${name}":${quoted(value)}`
}

function plain(name: string, value: number | boolean | undefined): string {
  return value === undefined ? '' : `,"${name}":${value}`
}

function quoted(value: string): string {
  return JSON.stringify(value)
}

/** Counts requests. Called for every request: takes less than a microsecond and never throws. */
export interface RequestMeter {
  began(): void
  ended(record: RequestRecord): void
  /** A request that is not counted has ended. */
  passed(): void
}

/** Counts nothing, for a gateway without `/metrics`. */
export const UNMEASURED: RequestMeter = {
  began: () => undefined,
  ended: () => undefined,
  passed: () => undefined,
}
