import type { CallRecord } from '../schema/ledger.ts'
import type { RequestRecord } from './request-log.ts'

/** The line of the call log for a request that was dispatched (DESIGN §6). */
export function callRecord(record: RequestRecord, nowMs: number): CallRecord {
  const { charge, key = '', tenant, model = '', endpoint, errorCode, firstByteMs } = record
  return {
    requestId: record.requestId,
    atMs: nowMs,
    key,
    tenant,
    publication: model,
    endpoint,
    protocol: record.protocol,
    path: record.path,
    status: record.status,
    stream: record.stream ?? false,
    outcome: record.outcome,
    errorCode,
    usage: charge?.usage,
    amountNano: charge?.amountNano ?? 0n,
    marks: charge?.marks ?? [],
    latencyMs: Math.round(record.latencyMs),
    firstByteMs: firstByteMs === undefined ? undefined : Math.round(firstByteMs),
    attempts: record.attempts?.length ?? 1,
  }
}
