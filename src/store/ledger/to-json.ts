import { formatNano } from '../../base/decimal.ts'
import { iso } from '../../base/iso.ts'
import type { Usage } from '../../schema/ledger.ts'
import type { StoredCall, StoredRejection, UsageRow, WalletEntry } from './types.ts'

/** The JSON of a call, in the CLI and in REST. */
export function callToJson(call: StoredCall, currency: string) {
  return {
    id: call.id,
    at: iso(call.atMs),
    request_id: call.requestId,
    key: call.key,
    ...(call.tenant !== undefined && { tenant: call.tenant }),
    model: call.publication,
    ...(call.endpoint !== undefined && { endpoint: call.endpoint }),
    ...(call.node !== undefined && { node: call.node }),
    protocol: call.protocol,
    path: call.path,
    status: call.status,
    stream: call.stream,
    outcome: call.outcome,
    ...(call.errorCode !== undefined && { error_code: call.errorCode }),
    ...(call.usage && usageToJson(call.usage)),
    cost: formatNano(call.amountNano),
    currency,
    flags: [...call.flags],
    latency_ms: call.latencyMs,
    ...(call.firstByteMs !== undefined && { first_byte_ms: call.firstByteMs }),
    attempts: call.attempts,
    ...(call.reason !== undefined && { reason: call.reason }),
    ...(call.failedAttempts && { failed_attempts: [...call.failedAttempts] }),
  }
}

/** The JSON of `count` equal calls that were rejected before dispatch. */
export function rejectionToJson(call: StoredRejection) {
  return {
    at: iso(call.atMs),
    request_id: call.requestId,
    ...(call.key !== undefined && { key: call.key }),
    ...(call.tenant !== undefined && { tenant: call.tenant }),
    ...(call.askedModel !== undefined && { asked_model: call.askedModel }),
    protocol: call.protocol,
    path: call.path,
    status: call.status,
    outcome: call.status >= 500 ? ('failed' as const) : ('rejected' as const),
    error_code: call.errorCode,
    message: call.message,
    ...(call.reason !== undefined && { reason: call.reason }),
    count: call.count,
    dispatched: false as const,
  }
}

/** The sums of a usage report row, without its label. */
export function sumsToJson(row: UsageRow) {
  return {
    requests: row.requests,
    ...usageToJson(row),
    cost: formatNano(row.amountNano),
    estimated: row.estimated,
    unpriced: row.unpriced,
  }
}

/** The JSON of a wallet entry. */
export function entryToJson(entry: WalletEntry) {
  const { id, kind, atMs, amountNano, reference, note, author, requestId, key, publication } = entry
  const { usage, price, flags } = entry
  return {
    id,
    kind,
    at: iso(atMs),
    amount: formatNano(amountNano),
    ...(reference !== undefined && { reference }),
    ...(note !== undefined && { note }),
    ...(author !== undefined && { author }),
    ...(requestId !== undefined && { request_id: requestId }),
    ...(key !== undefined && { key }),
    ...(publication !== undefined && { model: publication }),
    ...(usage && usageToJson(usage)),
    ...(price !== undefined && { price: JSON.parse(price) as Record<string, string> }),
    flags: [...flags],
  }
}

function usageToJson(usage: Usage) {
  return {
    input_tokens: usage.inputTokens,
    cached_input_tokens: usage.cachedInputTokens,
    cache_write_tokens: usage.cacheWriteTokens,
    output_tokens: usage.outputTokens,
    search_units: usage.searchUnits,
    duration_ms: usage.durationMs,
    characters: usage.characters,
    images: usage.images,
  }
}
