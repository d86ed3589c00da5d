import { cost } from '../../schema/cost.ts'
import type { Price } from '../../schema/ledger.ts'
import type { LedgerTable } from '../tables.ts'
import type { Finding } from './types.ts'

/** An entry, as far as it is added up. */
export interface Entry {
  readonly id: number
  readonly kind: LedgerTable['kind']
  readonly request_id: string | null
  readonly attempt: number | null
  readonly key_name: string | null
  readonly tenant: string | null
  readonly publication: string | null
  readonly endpoint: string | null
  readonly input_tokens: number | null
  readonly cached_input_tokens: number | null
  readonly cache_write_tokens: number | null
  readonly output_tokens: number | null
  readonly search_units: number | null
  readonly price_id: number | null
  /** The amount, cast to text. */
  readonly nano: string
}

/** Adds entries up, oldest first, and notes those that cannot follow what came before. */
export class Recount {
  readonly findings: Finding[] = []
  readonly balances = new Map<string, bigint>()
  readonly keyAmounts = new Map<string, bigint>()
  readonly keyTokens = new Map<string, bigint>()
  /** By request id and attempt, with a line break between. */
  readonly openHolds = new Map<string, Entry>()
  entries = 0
  /** The last credit, debit or adjustment. */
  walletVersion = 0
  #lastId = 0
  readonly #prices: ReadonlyMap<number, Price>

  /** @param prices by their ids. */
  constructor(prices: ReadonlyMap<number, Price>) {
    this.#prices = prices
  }

  add(entry: Entry): void {
    this.entries += 1
    if (entry.id !== this.#lastId + 1) {
      const last = entry.id - 1
      const row = this.#lastId + 1 === last ? `id ${last}` : `ids ${this.#lastId + 1} to ${last}`
      this.findings.push({ table: 'ledger', row, problem: 'no longer there: the ledger is append-only' })
    }
    this.#lastId = entry.id
    const amountNano = BigInt(entry.nano)
    switch (entry.kind) {
      case 'hold':
        this.#hold(entry)
        return
      case 'release':
        this.#end(entry)
        return
      case 'settle':
        this.#end(entry)
        this.#settle(entry, amountNano)
        return
      case 'debit':
        this.#adjust(entry, -amountNano)
        return
      case 'credit':
      case 'adjust':
        this.#adjust(entry, amountNano)
        return
    }
  }

  #hold(entry: Entry): void {
    const id = holdId(entry)
    if (this.openHolds.has(id)) this.#find(entry, 'opens what is open already')
    this.openHolds.set(id, entry)
  }

  #end(entry: Entry): void {
    const id = holdId(entry)
    const hold = this.openHolds.get(id)
    this.openHolds.delete(id)
    if (!hold) {
      this.#find(entry, 'ends what is not open')
      return
    }
    // Not the endpoint: where the first one failed, another has answered.
    for (const column of ['key_name', 'tenant', 'publication'] as const) {
      if (entry[column] === hold[column]) continue
      this.#find(entry, `has ${column} ${entry[column]}, but its hold, entry ${hold.id}, has ${hold[column]}`)
    }
  }

  #settle(entry: Entry, amountNano: bigint): void {
    const { key_name: key, tenant, input_tokens, output_tokens } = entry
    this.#recompute(entry, amountNano)
    if (tenant !== null) plus(this.balances, tenant, -amountNano)
    if (key === null) return
    plus(this.keyAmounts, key, amountNano)
    plus(this.keyTokens, key, BigInt(input_tokens ?? 0) + BigInt(output_tokens ?? 0))
  }

  /** A bill is its price times its usage (MONEY, invariant 3). */
  #recompute(entry: Entry, amountNano: bigint): void {
    if (entry.price_id === null) return
    const price = this.#prices.get(entry.price_id)
    if (!price) return this.#find(entry, `was billed by price ${entry.price_id}, which is not there`)
    const computedNano = cost(price, {
      inputTokens: entry.input_tokens ?? 0,
      cachedInputTokens: entry.cached_input_tokens ?? 0,
      cacheWriteTokens: entry.cache_write_tokens ?? 0,
      outputTokens: entry.output_tokens ?? 0,
      searchUnits: entry.search_units ?? 0,
    })
    if (computedNano === amountNano) return
    this.#find(entry, `was billed ${amountNano}, but its price and usage come to ${computedNano}`)
  }

  #adjust({ id, tenant }: Entry, amountNano: bigint): void {
    this.walletVersion = id
    if (tenant !== null) plus(this.balances, tenant, amountNano)
  }

  #find({ id }: Entry, problem: string): void {
    this.findings.push({ table: 'ledger', row: `id ${id}`, problem })
  }
}

function holdId({ request_id, attempt }: Entry): string {
  return `${request_id}\n${attempt}`
}

function plus(sums: Map<string, bigint>, name: string, amount: bigint): void {
  sums.set(name, (sums.get(name) ?? 0n) + amount)
}
