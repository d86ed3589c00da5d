import { cost } from '../../schema/cost.ts'
import type { Price } from '../../schema/ledger.ts'
import type { EntriesPage, HoldEntry, OtherEntry } from './entries.ts'
import type { Finding } from './types.ts'

export interface Balance {
  nano: bigint
}

/** The sums of the settlements of a key. */
export interface KeyUse {
  amountNano: bigint
  tokens: bigint
}

export type OnSettled = (entry: OtherEntry, amountNano: bigint) => void

/** Adds entries up, oldest first, and records those that contradict earlier entries. */
export class Recount {
  readonly findings: Finding[] = []
  readonly balances = new Map<string, Balance>()
  readonly keys = new Map<string, KeyUse>()
  /** By request id, and attempt if it is not the first. */
  readonly openHolds = new Map<string, HoldEntry>()
  entries = 0
  /** The id of the last credit, debit or adjustment. */
  walletVersion = 0
  #lastId = 0
  readonly #prices: ReadonlyMap<number, Price>
  readonly #maxFindings: number

  /** @param prices by their ids. */
  constructor(prices: ReadonlyMap<number, Price>, maxFindings: number) {
    this.#prices = prices
    this.#maxFindings = maxFindings
  }

  /** @param onSettled is called for each settlement. */
  add({ holds, others }: EntriesPage, onSettled: OnSettled): void {
    let next = 0
    for (const other of others) {
      for (let hold = holds[next]; hold && hold[0] < other[0]; hold = holds[++next]) this.#hold(hold)
      this.#other(other, onSettled)
    }
    for (let hold = holds[next]; hold; hold = holds[++next]) this.#hold(hold)
  }

  #hold(entry: HoldEntry): void {
    this.#count(entry[0])
    const name = nameOf(entry[1], entry[2])
    if (this.openHolds.has(name)) this.#find(entry[0], 'opens a hold that is already open')
    this.openHolds.set(name, entry)
  }

  #other(entry: OtherEntry, onSettled: OnSettled): void {
    this.#count(entry[0])
    switch (entry[1]) {
      case 'release':
        return this.#end(entry)
      case 'settle':
        this.#end(entry)
        return this.#settle(entry, onSettled)
      case 'debit':
        return this.#adjust(entry, -BigInt(entry[7]))
      case 'credit':
      case 'adjust':
        this.#adjust(entry, BigInt(entry[7]))
    }
  }

  #count(id: number): void {
    this.entries += 1
    if (id !== this.#lastId + 1) {
      const last = id - 1
      const row = this.#lastId + 1 === last ? `id ${last}` : `ids ${this.#lastId + 1} to ${last}`
      this.#note({ table: 'ledger', row, problem: 'no longer there: the ledger is append-only' })
    }
    this.#lastId = id
  }

  #end(entry: OtherEntry): void {
    const name = nameOf(entry[2], entry[3])
    const hold = this.openHolds.get(name)
    if (!hold) return this.#find(entry[0], 'ends a hold that is not open')
    this.openHolds.delete(name)
    if (entry[4] === hold[3] && entry[5] === hold[4] && entry[6] === hold[5]) return
    // Not the endpoint: after a failover another endpoint has answered.
    for (const [column, has, had] of [
      ['key_name', entry[4], hold[3]],
      ['tenant', entry[5], hold[4]],
      ['publication', entry[6], hold[5]],
    ] as const) {
      if (has !== had)
        this.#find(entry[0], `has ${column} ${has}, but its hold, entry ${hold[0]}, has ${had}`)
    }
  }

  #settle(entry: OtherEntry, onSettled: OnSettled): void {
    const amountNano = BigInt(entry[7])
    const key = entry[4]
    const tenant = entry[5]
    this.#recompute(entry, amountNano)
    if (tenant !== null) this.#move(tenant, -amountNano)
    if (key === null) return
    const tokens = BigInt((entry[10] ?? 0) + (entry[13] ?? 0))
    const use = this.keys.get(key)
    if (use) {
      use.amountNano += amountNano
      use.tokens += tokens
    } else this.keys.set(key, { amountNano, tokens })
    onSettled(entry, amountNano)
  }

  #adjust(entry: OtherEntry, amountNano: bigint): void {
    this.walletVersion = entry[0]
    if (entry[5] !== null) this.#move(entry[5], amountNano)
  }

  #move(tenant: string, amountNano: bigint): void {
    const balance = this.balances.get(tenant)
    if (balance) balance.nano += amountNano
    else this.balances.set(tenant, { nano: amountNano })
  }

  /** A charge is its price times its usage (spec/money.md §5, invariant 3). */
  #recompute(entry: OtherEntry, amountNano: bigint): void {
    const priceId = entry[15]
    if (priceId === null) return
    const price = this.#prices.get(priceId)
    if (!price) return this.#find(entry[0], `was billed by price ${priceId}, which is not there`)
    const computedNano = cost(price, {
      inputTokens: entry[10] ?? 0,
      cachedInputTokens: entry[11] ?? 0,
      cacheWriteTokens: entry[12] ?? 0,
      outputTokens: entry[13] ?? 0,
      searchUnits: entry[14] ?? 0,
    })
    if (computedNano === amountNano) return
    this.#find(entry[0], `was billed ${amountNano}, but its price and usage come to ${computedNano}`)
  }

  #find(id: number, problem: string): void {
    this.#note({ table: 'ledger', row: `id ${id}`, problem })
  }

  #note(finding: Finding): void {
    if (this.findings.length < this.#maxFindings) this.findings.push(finding)
  }
}

/** Nearly every attempt is the first one: its request id alone is a faster key. */
function nameOf(requestId: string | null, attempt: number | null): string {
  return attempt === 1 ? `${requestId}` : `${requestId}\n${attempt}`
}
