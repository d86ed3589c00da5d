import {
  type CallRecord,
  type Claim,
  type Hold,
  type HoldEnd,
  type Settlement,
  usageOf,
} from '../../schema/ledger.ts'
import { protocolOfPath } from '../../schema/paths.ts'
import type { Answers, HoldId, LedgerQuery } from './messages.ts'

/** How far past its deadline a hold may be before the sweeper ends it (spec/money.md §5). */
export const SWEEP_AFTER_MS = 60_000

/** The parts of the ledger that recovery and the sweeper use. */
export interface RecoveryPorts {
  readonly query: <Query extends LedgerQuery>(query: Query) => Promise<Answers[Query['query']]>
  readonly end: (end: HoldEnd) => Promise<void>
  readonly log: (record: CallRecord) => void
}

/**
 * Settles the holds of earlier processes, a page at a time: settled holds drop out of the query. Also writes their
 * missing lines of the call log.
 */
export async function recoverHolds({ query, end, log }: RecoveryPorts, nowMs: number): Promise<number> {
  let count = 0
  for (;;) {
    const holds = await query({ query: 'orphaned' })
    if (holds.length === 0) return count
    const settled = holds.map(hold => ({ hold, bill: settleUnknown(hold, nowMs, 'interrupted') }))
    await Promise.all(settled.map(({ bill }) => end(bill)))
    for (const { hold, bill } of settled) if (hold.call) log(interruptedCall(bill, hold.call))
    count += holds.length
  }
}

/** Settles overdue holds of unknown requests, a page at a time. */
export async function sweepHolds(
  { query, end }: RecoveryPorts,
  nowMs: number,
  isKnown: (requestId: string, attempt: number) => boolean,
): Promise<number> {
  const deadlineBeforeMs = nowMs - SWEEP_AFTER_MS
  let count = 0
  let after: HoldId | undefined
  for (;;) {
    const holds = await query({ query: 'overdue', deadlineBeforeMs, ...(after && { after }) })
    after = holds.at(-1)
    if (!after) return count
    const forgotten = holds.filter(({ requestId, attempt }) => !isKnown(requestId, attempt))
    await Promise.all(forgotten.map(hold => end(settleUnknown(hold, nowMs, 'swept'))))
    count += forgotten.length
  }
}

export function claimOf({ requestId, attempt, key, tenant, publication, endpoint }: Claim): Claim {
  return { requestId, attempt, key, publication, endpoint, ...(tenant !== undefined && { tenant }) }
}

/** The status that the client got, and the duration, are unknown. */
function interruptedCall(bill: Settlement, { path, stream }: NonNullable<Hold['call']>): CallRecord {
  const { requestId, attempt, key, tenant, publication, endpoint } = bill
  return {
    requestId,
    atMs: bill.endedAtMs,
    key,
    ...(tenant !== undefined && { tenant }),
    publication,
    endpoint,
    protocol: protocolOfPath(path),
    path,
    status: 0,
    stream,
    outcome: 'interrupted',
    usage: bill.usage,
    amountNano: bill.amountNano,
    flags: bill.flags,
    latencyMs: 0,
    attempts: attempt,
  }
}

/** The actual cost is unknown: charges the estimated cost of the input (spec/money.md §2). */
function settleUnknown(hold: Hold, nowMs: number, flag: 'interrupted' | 'swept'): Settlement {
  return {
    ...claimOf(hold),
    kind: 'settle',
    endedAtMs: nowMs,
    amountNano: hold.inputAmountNano,
    usage: usageOf({ inputTokens: hold.inputTokens, ...hold.inputUnits }),
    flags: [flag, 'estimated'],
  }
}
