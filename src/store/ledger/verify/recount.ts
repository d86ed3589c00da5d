import { cost } from '../../../schema/cost.ts'
import type { Price } from '../../../schema/ledger.ts'
import { plus, type Whole } from '../columns.ts'
import type { Finding } from '../types.ts'
import {
  amountOf,
  DEBIT,
  type EntriesPage,
  type HoldEntry,
  type OtherEntry,
  RELEASE,
  unitsOf,
} from './entries.ts'
import type { QuarterRecount, SpanPlace } from './quarter-recount.ts'

export interface Balance {
  nano: Whole
}

/** The sums of the settlements of a key. */
export interface KeyUse {
  amountNano: Whole
  tokens: Whole
}

/** The names of an end, taken apart, and the sums that its amount is added to. */
interface Place {
  /** As {@link OtherEntry.place}. */
  readonly text: string
  /** As {@link HoldEntry.names}. */
  readonly names: string
  readonly use: KeyUse
  /** Undefined for platform keys. */
  readonly balance: Balance | undefined
  /** The sums by quarters, of the span that the last settlement was in. */
  span: SpanPlace | undefined
}

/** How many places stay in memory: each is only a faster way to the sums. */
const MAX_PLACES = 20_000

/**
 * The holds without an end. Those of the newest page are apart: each time that a `Map` with many deletions is written
 * anew, its old table refers to the new one, and once one of these tables is old the collector keeps all that follow.
 */
class OpenHolds {
  /** By {@link HoldEntry.request}. */
  readonly #older = new Map<string, HoldEntry>()
  #newest = new Map<string, HoldEntry>()

  /** False if it was open already. */
  open(entry: HoldEntry): boolean {
    const isNew = !this.#newest.has(entry.request) && !this.#older.has(entry.request)
    this.#newest.set(entry.request, entry)
    return isNew
  }

  /** Undefined if it is not open. */
  end(request: string): HoldEntry | undefined {
    const holds = this.#newest.has(request) ? this.#newest : this.#older
    const hold = holds.get(request)
    if (hold) holds.delete(request)
    return hold
  }

  /** Call it after each page. */
  endPage(): void {
    for (const [request, entry] of this.#newest) this.#older.set(request, entry)
    this.#newest = new Map()
  }

  /** After the last page: all that are open. */
  all(): HoldEntry[] {
    return [...this.#older.values()]
  }
}

/** Adds entries up, oldest first, and records those that contradict earlier entries. */
export class Recount {
  readonly findings: Finding[] = []
  readonly balances = new Map<string, Balance>()
  readonly keys = new Map<string, KeyUse>()
  readonly openHolds = new OpenHolds()
  entries = 0
  /** The id of the last credit, debit or adjustment. */
  walletVersion = 0
  #lastId = 0
  readonly #places = new Map<string, Place>()
  readonly #prices: ReadonlyMap<number, Price>
  readonly #quarters: QuarterRecount
  readonly #maxFindings: number

  /**
   * @param prices by their ids.
   * @param quarters gets each settlement.
   */
  constructor(prices: ReadonlyMap<number, Price>, quarters: QuarterRecount, maxFindings: number) {
    this.#prices = prices
    this.#quarters = quarters
    this.#maxFindings = maxFindings
  }

  add({ holds, others }: EntriesPage): void {
    if (this.#places.size > MAX_PLACES) this.#places.clear()
    let next = 0
    for (const other of others) {
      for (let hold = holds[next]; hold && hold.id < other.id; hold = holds[++next]) this.#hold(hold)
      this.#other(other)
    }
    for (let hold = holds[next]; hold; hold = holds[++next]) this.#hold(hold)
    this.openHolds.endPage()
  }

  #hold(entry: HoldEntry): void {
    this.#count(entry.id)
    if (!this.openHolds.open(entry)) this.#find(entry.id, 'opens a hold that is already open')
  }

  #other(entry: OtherEntry): void {
    this.#count(entry.id)
    if (entry.what < RELEASE) return this.#adjust(entry)
    const place = this.#placeOf(entry.place)
    this.#end(entry, place)
    if (entry.what !== RELEASE) this.#settle(entry, place)
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

  #end({ id, request }: OtherEntry, { names }: Place): void {
    const hold = this.openHolds.end(request ?? '')
    if (!hold) return this.#find(id, 'ends a hold that is not open')
    if (names === hold.names) return
    // Not the endpoint: after a failover another endpoint has answered.
    const [has, had] = [names.split('\n'), hold.names.split('\n')]
    for (const [at, column] of ['key_name', 'publication', 'tenant'].entries()) {
      if (has[at] !== had[at]) {
        this.#find(
          id,
          `has ${column} ${has[at] ?? null}, but its hold, entry ${hold.id}, has ${had[at] ?? null}`,
        )
      }
    }
  }

  #settle(entry: OtherEntry, place: Place): void {
    const amountNano = amountOf(entry)
    this.#recompute(entry, amountNano)
    const { use, balance } = place
    if (balance) balance.nano = plus(balance.nano, -amountNano)
    use.amountNano = plus(use.amountNano, amountNano)
    use.tokens = plus(use.tokens, (entry.inputTokens ?? 0) + (entry.outputTokens ?? 0))
    place.span = this.#quarters.add(entry, amountNano, place.span)
  }

  #adjust(entry: OtherEntry): void {
    this.walletVersion = entry.id
    const balance = this.#balance(entry.place.slice(entry.place.lastIndexOf('\n') + 1))
    const amountNano = amountOf(entry)
    balance.nano = plus(balance.nano, entry.what === DEBIT ? -amountNano : amountNano)
  }

  #placeOf(text: string): Place {
    let place = this.#places.get(text)
    if (!place) {
      const [, key = '', , tenant] = text.split('\n')
      place = {
        text,
        names: text.slice(text.indexOf('\n') + 1),
        use: this.#use(key),
        balance: tenant === undefined ? undefined : this.#balance(tenant),
        span: undefined,
      }
      this.#places.set(text, place)
    }
    return place
  }

  #use(key: string): KeyUse {
    const use = this.keys.get(key) ?? { amountNano: 0, tokens: 0 }
    this.keys.set(key, use)
    return use
  }

  #balance(tenant: string): Balance {
    const balance = this.balances.get(tenant) ?? { nano: 0 }
    this.balances.set(tenant, balance)
    return balance
  }

  /** A charge is its price times its usage (spec/money.md §5, invariant 3). */
  #recompute(entry: OtherEntry, amountNano: Whole): void {
    const { id, priceId } = entry
    if (priceId === null) return
    const price = this.#prices.get(priceId)
    if (!price) return this.#find(id, `was billed by price ${priceId}, which is not there`)
    const { durationMs, characters, images } = unitsOf(entry)
    const computedNano = cost(price, {
      inputTokens: entry.inputTokens ?? 0,
      cachedInputTokens: entry.cachedInputTokens ?? 0,
      cacheWriteTokens: entry.cacheWriteTokens ?? 0,
      outputTokens: entry.outputTokens ?? 0,
      searchUnits: entry.searchUnits ?? 0,
      durationMs,
      characters,
      images,
    })
    if (computedNano === BigInt(amountNano)) return
    this.#find(id, `was billed ${amountNano}, but its price and usage come to ${computedNano}`)
  }

  #find(id: number, problem: string): void {
    this.#note({ table: 'ledger', row: `id ${id}`, problem })
  }

  #note(finding: Finding): void {
    if (this.findings.length < this.#maxFindings) this.findings.push(finding)
  }
}
