import type { CallRecord, Claim } from '../schema/ledger.ts'
import type { RequestRecord } from './request-log.ts'

/**
 * The line of the call log for a request that was dispatched (DESIGN §6).
 *
 * @param claim of its bill: the log goes by accounts, as the ledger does.
 */
export function callRecord(record: RequestRecord, claim: Claim | undefined, nowMs: number): CallRecord {
  const { charge, errorCode, firstByteMs } = record
  const { key = '', tenant, publication = '', endpoint } = claim ?? { ...record, publication: record.model }
  return {
    requestId: record.requestId,
    atMs: nowMs,
    key,
    tenant,
    publication,
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
