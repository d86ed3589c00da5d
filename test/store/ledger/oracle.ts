import type { Hold, HoldEnd, Settlement } from '../../../src/schema/ledger.ts'
import type { Row, RowFault } from '../../../src/store/ledger/messages.ts'

/** The ledger as maps: one obvious step for each row, no batches, no sums kept. */
export class Oracle {
  readonly holds = new Map<string, Hold>()
  readonly ends = new Map<string, HoldEnd>()
  readonly adjustments: { tenant: string; amountNano: bigint; reference: string }[] = []
  calls = 0

  write([what, row]: Row): RowFault | undefined {
    if (what === 'log') {
      this.calls += 1
      return undefined
    }
    const id = `${row.requestId} ${row.attempt}`
    if (what === 'hold') {
      if (row.prepaid && row.tenant !== undefined && row.amountNano > 0n) {
        const [balanceNano, heldNano] = [this.balance(row.tenant), this.held(row.tenant)]
        if (balanceNano - heldNano < row.amountNano) return { balanceNano, heldNano }
      }
      if (this.holds.has(id)) return 'held_twice'
      this.holds.set(id, row)
      return undefined
    }
    if (!this.holds.has(id)) return 'never_held'
    const first = this.ends.get(id)
    if (!first) {
      this.ends.set(id, row)
      return undefined
    }
    return first.kind === row.kind && amount(first) === amount(row) ? undefined : 'ended_differently'
  }

  get open(): Hold[] {
    return [...this.holds].filter(([id]) => !this.ends.has(id)).map(([, hold]) => hold)
  }

  get settled(): Settlement[] {
    return [...this.ends.values()].filter(end => end.kind === 'settle')
  }

  balance(tenant: string): bigint {
    const paid = this.adjustments.filter(one => one.tenant === tenant).map(one => one.amountNano)
    const spent = this.settled.filter(end => end.tenant === tenant).map(end => -end.amountNano)
    return sum([...paid, ...spent])
  }

  held(tenant: string): bigint {
    return sum(this.open.filter(hold => hold.tenant === tenant).map(hold => hold.amountNano))
  }

  keySums(key: string, sinceMs: number) {
    const all = this.settled.filter(end => end.key === key)
    return {
      key,
      totalTokens: all.reduce((tokens, { usage }) => tokens + usage.inputTokens + usage.outputTokens, 0),
      totalNano: sum(all.map(amount)),
      windowNano: sum(all.filter(end => end.endedAtMs >= sinceMs).map(amount)),
    }
  }
}

function amount(end: HoldEnd): bigint {
  return end.kind === 'settle' ? end.amountNano : 0n
}

function sum(amounts: readonly bigint[]): bigint {
  return amounts.reduce((total, one) => total + one, 0n)
}
