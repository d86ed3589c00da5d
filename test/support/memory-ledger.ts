import type { LedgerPort } from '../../src/gateway/bill.ts'
import type { CallRecord, Hold, HoldEnd, RejectedCall, StoredResponse } from '../../src/schema/ledger.ts'

/** A ledger in memory, for tests of what is sent to it. Its promises resolve when the test lets them. */
export interface MemoryLedger extends LedgerPort {
  healthy: boolean
  readonly holds: readonly Hold[]
  readonly ends: readonly HoldEnd[]
  readonly calls: readonly CallRecord[]
  readonly rejected: readonly RejectedCall[]
  /** Holds that have no end yet. */
  readonly openHolds: readonly Hold[]
  /** Awaited before each end is acknowledged. */
  beforeEnd: () => Promise<void>
  /** Awaited before each hold is acknowledged; may reject. */
  beforeOpen: () => Promise<void>
  /** The next end that no earlier call has given out. */
  nextEnd(): Promise<HoldEnd>
}

export function memoryLedger(): MemoryLedger {
  const holds: Hold[] = []
  const ends: HoldEnd[] = []
  const calls: CallRecord[] = []
  const rejected: RejectedCall[] = []
  const readers: ((end: HoldEnd) => void)[] = []
  let given = 0
  return {
    healthy: true,
    holds,
    ends,
    calls,
    rejected,
    get openHolds() {
      return holds.filter(hold => !ends.some(end => end.requestId === hold.requestId))
    },
    beforeEnd: async () => undefined,
    beforeOpen: async () => undefined,
    async open(hold) {
      await this.beforeOpen()
      holds.push(hold)
      return holds.length
    },
    durable: () => undefined,
    async end(end) {
      ends.push(end)
      const reader = readers.shift()
      if (reader) {
        given++
        reader(end)
      }
      await this.beforeEnd()
    },
    log: record => calls.push(record),
    logRejected: call => rejected.push(call),
    stored: async ids => ids.map(id => lastStored(ends, id)),
    nextEnd: () =>
      given < ends.length
        ? Promise.resolve(ends[given++] as HoldEnd)
        : new Promise(resolve => readers.push(resolve)),
  }
}

/** Without an end of their time: this ledger has no clock. */
function lastStored(ends: readonly HoldEnd[], id: string): StoredResponse | undefined {
  const end = ends.findLast(end => end.kind === 'settle' && end.stored?.ids.includes(id))
  if (end?.kind !== 'settle' || !end.stored) return undefined
  const { key, tenant, publication, endpoint, stored } = end
  const { ids, expiresAtMs } = stored
  const tokens = ids[0] === id ? stored.tokens : stored.outputTokens
  return { id, key, tenant, publication, endpoint, tokens, expiresAtMs }
}
