import { cost } from '../../../schema/cost.ts'
import { type Price, usageOf } from '../../../schema/ledger.ts'
import { codeOf, plus, type Whole } from '../columns.ts'
import type { Finding } from '../types.ts'
import type { UsageSums } from '../usage-sums.ts'
import { amountOf, type Entry } from './entries.ts'
import type { PlaceSums } from './place-sums.ts'
import type { QuarterRecount, SpanPlace } from './quarter-recount.ts'
import { placeOf } from './usage-cell.ts'

const SETTLE = codeOf('settle')
const RELEASE = codeOf('release')
const DEBIT = codeOf('debit')

export interface Balance {
  nano: Whole
}

/** The sums of the settlements of a key. */
export interface KeyUse {
  amountNano: Whole
  tokens: Whole
}

/** The names of a settlement, and the sums that its amount is added to. */
interface Place {
  /** See {@link placeOf}. */
  readonly text: string
  readonly use: KeyUse
  /** Undefined for platform keys. */
  readonly balance: Balance | undefined
  /** The sums by quarters, of the span that the last settlement was in. */
  span: SpanPlace | undefined
}

/** How many places stay in memory: each is only a faster way to the sums. */
const MAX_PLACES = 20_000
/** More names than any ledger has; its square is a safe integer. */
const MAX_NAMES = 2 ** 26

/** Adds entries up, oldest first, and records those that contradict earlier entries. */
export class Recount {
  readonly findings: Finding[] = []
  readonly balances = new Map<string, Balance>()
  readonly keys = new Map<string, KeyUse>()
  entries = 0
  /** Credits, debits and adjustments, and the id of the last one. */
  adjustments = 0
  walletVersion = 0
  #lastId = 0
  /** By key and publication, and then by endpoint and tenant. */
  readonly #places = new Map<number, Map<number, Place>>()
  #placeCount = 0
  readonly #names: ReadonlyMap<number, string>
  readonly #prices: ReadonlyMap<number, Price>
  readonly #closed: PlaceSums
  readonly #quarters: QuarterRecount
  readonly #maxFindings: number

  /**
   * @param names by their ids, like the prices.
   * @param sums get each settlement: those of a closed time by place, the others by quarters too.
   */
  constructor(
    names: ReadonlyMap<number, string>,
    prices: ReadonlyMap<number, Price>,
    { closed, quarters }: { readonly closed: PlaceSums; readonly quarters: QuarterRecount },
    maxFindings: number,
  ) {
    this.#names = names
    this.#prices = prices
    this.#closed = closed
    this.#quarters = quarters
    this.#maxFindings = maxFindings
  }

  /** The sums of an archive, in place of its entries. */
  carry(archived: Iterable<[place: string, sums: UsageSums]>): void {
    for (const [text, sums] of archived) {
      const { key, tenant } = placeOf(text)
      const use = this.#use(key)
      use.amountNano = plus(use.amountNano, sums.amountNano)
      use.tokens = plus(use.tokens, sums.inputTokens + sums.outputTokens)
      const balance = tenant === '' ? undefined : this.#balance(tenant)
      if (balance) balance.nano = plus(balance.nano, -sums.amountNano)
      this.#closed.plus(text, sums)
    }
  }

  /**
   * Adds entries of an archive's file, or those that stay in the ledger beside an archive.
   * @param sums get each settlement, too.
   */
  addArchived(entries: readonly Entry[], sums?: PlaceSums): void {
    for (const entry of entries) this.#add(entry, sums)
    this.#freePlaces()
  }

  /** Adds entries that follow the previous ones without a gap. */
  add(entries: readonly Entry[]): void {
    for (const entry of entries) {
      this.#follow(entry[0])
      this.#add(entry)
    }
    this.#freePlaces()
  }

  /** The next entry follows this id. */
  continueAfter(id: number): void {
    this.#lastId = id
  }

  #add(entry: Entry, sums?: PlaceSums): void {
    const [, kind] = entry
    this.entries += 1
    if (kind === SETTLE) this.#settle(entry, sums)
    else if (kind !== RELEASE) this.#adjust(entry)
  }

  #freePlaces(): void {
    if (this.#placeCount <= MAX_PLACES) return
    this.#places.clear()
    this.#placeCount = 0
  }

  #follow(id: number): void {
    if (id !== this.#lastId + 1) {
      const last = id - 1
      const row = this.#lastId + 1 === last ? `id ${last}` : `ids ${this.#lastId + 1} to ${last}`
      this.#note({ table: 'ledger', row, problem: 'no longer there: the ledger is append-only' })
    }
    this.#lastId = id
  }

  #settle(entry: Entry, sums: PlaceSums | undefined): void {
    const amountNano = amountOf(entry)
    this.#recompute(entry, amountNano)
    const place = this.#placeOf(entry)
    const { use, balance } = place
    if (balance) balance.nano = plus(balance.nano, -amountNano)
    use.amountNano = plus(use.amountNano, amountNano)
    use.tokens = plus(use.tokens, (entry[10] ?? 0) + (entry[13] ?? 0))
    sums?.add(place.text, entry, amountNano)
    if (entry[2] < this.#quarters.from) this.#closed.add(place.text, entry, amountNano)
    else place.span = this.#quarters.add(place.text, entry, amountNano, place.span)
  }

  #adjust(entry: Entry): void {
    const [id, kind, , , , tenantId] = entry
    this.adjustments += 1
    this.walletVersion = id
    const balance = this.#balance(this.#name(id, tenantId))
    const amountNano = amountOf(entry)
    balance.nano = plus(balance.nano, kind === DEBIT ? -amountNano : amountNano)
  }

  #placeOf(entry: Entry): Place {
    const [id, , , , keyId, tenantId, publicationId, endpointId] = entry
    const owner = (keyId ?? 0) * MAX_NAMES + (publicationId ?? 0)
    const target = (endpointId ?? 0) * MAX_NAMES + (tenantId ?? 0)
    let places = this.#places.get(owner)
    if (!places) this.#places.set(owner, (places = new Map()))
    let place = places.get(target)
    if (!place) {
      const key = this.#name(id, keyId)
      const tenant = tenantId === null ? undefined : this.#name(id, tenantId)
      const names = [this.#name(id, endpointId), key, this.#name(id, publicationId)]
      place = {
        text: [...names, ...(tenant === undefined ? [] : [tenant])].join('\n'),
        use: this.#use(key),
        balance: tenant === undefined ? undefined : this.#balance(tenant),
        span: undefined,
      }
      places.set(target, place)
      this.#placeCount += 1
    }
    return place
  }

  #name(id: number, nameId: number | null): string {
    const name = this.#names.get(nameId ?? 0)
    if (name === undefined) this.#find(id, `has the name ${nameId}, which is not there`)
    return name ?? `name ${nameId}`
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
  #recompute(entry: Entry, amountNano: Whole): void {
    const [id, , , , , , , , , priceId] = entry
    if (priceId === null) return
    const price = this.#prices.get(priceId)
    if (!price) return this.#find(id, `was billed by price ${priceId}, which is not there`)
    const [, , , , , , , , , , input, cached, written, output, units, ms, characters, images] = entry
    const computedNano = cost(
      price,
      usageOf({
        inputTokens: input ?? 0,
        cachedInputTokens: cached ?? 0,
        cacheWriteTokens: written ?? 0,
        outputTokens: output ?? 0,
        searchUnits: units ?? 0,
        durationMs: ms ?? 0,
        characters: characters ?? 0,
        images: images ?? 0,
      }),
    )
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
