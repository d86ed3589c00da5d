import { withoutSecrets } from '../base/secret-shapes.ts'
import type { CallRecord, Claim, RejectedCall } from '../schema/ledger.ts'
import { failedAttempts, type RequestRecord } from './request-log.ts'

/** Limit of a reason, which may quote an upstream. */
const MAX_REASON_LENGTH = 300
const MAX_MODEL_LENGTH = 100

/**
 * The line of the call log for a request that was dispatched (spec/money.md §1).
 *
 * @param claim The claim of its bill: the log refers to accounts, like the ledger.
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
    node: record.node,
    protocol: record.protocol,
    path: record.path,
    status: record.status,
    stream: record.stream ?? false,
    outcome: record.outcome,
    errorCode,
    usage: charge?.usage,
    amountNano: charge?.amountNano ?? 0n,
    flags: charge?.flags ?? [],
    latencyMs: Math.round(record.latencyMs),
    firstByteMs: firstByteMs === undefined ? undefined : Math.round(firstByteMs),
    attempts: record.attempts?.length ?? 1,
    reason: record.reason === undefined ? undefined : cut(record.reason, MAX_REASON_LENGTH),
    failedAttempts:
      record.attempts && failedAttempts(record.attempts).map(text => cut(text, MAX_REASON_LENGTH)),
  }
}

/** The row for a request that was rejected before dispatch. Removes secrets: clients may send a key as the model. */
export function rejectedCall(
  record: RequestRecord,
  rejected: Pick<RejectedCall, 'key' | 'tenant' | 'askedModel' | 'message'>,
  nowMs: number,
): RejectedCall {
  const { askedModel, message } = rejected
  return {
    requestId: record.requestId,
    atMs: nowMs,
    key: rejected.key,
    tenant: rejected.tenant,
    askedModel: askedModel === undefined ? undefined : cut(withoutSecrets(askedModel), MAX_MODEL_LENGTH),
    protocol: record.protocol,
    path: record.path,
    status: record.status,
    errorCode: record.errorCode ?? '',
    message: cut(withoutSecrets(message), MAX_REASON_LENGTH),
    reason: record.reason === undefined ? undefined : cut(record.reason, MAX_REASON_LENGTH),
    count: 1,
  }
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1).replace(/[\uD800-\uDBFF]$/, '')}…`
}
