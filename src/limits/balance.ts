import { GwError } from '../base/catalogue/wire.ts'
import {
  type Limit,
  type LimitEnd,
  type LimitInfo,
  type LimitRequest,
  type LimitUsage,
  nameOf,
  notLoaded,
  numbers,
  type Owner,
} from './limit.ts'

const INFO: LimitInfo = { name: 'balance', title: 'prepaid balance', unit: 'money' }

/** The prepaid balance of a tenant: the ledger's balance, minus the amounts settled since it was queried. */
export class Balance implements Limit {
  readonly owner: Owner
  #heldNano = 0n
  #settledNano = 0n
  #baseNano: bigint | undefined

  constructor(owner: Owner) {
    this.owner = owner
  }

  get info() {
    return INFO
  }

  get heldUntil() {
    return 'charge' as const
  }

  get heldNano(): bigint {
    return this.#heldNano
  }

  /** Undefined until loaded from the ledger. */
  get balanceNano(): bigint | undefined {
    return this.#baseNano === undefined ? undefined : this.#baseNano - this.#settledNano
  }

  /** Everything ever settled here. Its value at the time of a ledger query belongs to the answer. */
  get settledNano(): bigint {
    return this.#settledNano
  }

  /** Sets the balance from the ledger, with the value of {@link settledNano} at the time of the query. */
  setBalance(balanceNano: bigint, settledThenNano: bigint): void {
    this.#baseNano = balanceNano + settledThenNano
  }

  /** Records the time of a ledger query. @returns the callback for its answer. */
  query(): (balanceNano: bigint) => void {
    const notedNano = this.#settledNano
    return balanceNano => this.setBalance(balanceNano, notedNano)
  }

  get isSpending() {
    return true
  }

  /** The store commits each prepaid hold, and knows what all gateways hold. */
  part(): undefined {
    return undefined
  }

  declare(): undefined {
    return undefined
  }

  isExceededBy({ entry, amountNano }: LimitRequest): boolean {
    if (entry.tenant?.billing !== 'prepaid') return false
    const balance = this.balanceNano
    return balance !== undefined && amountNano > 0n && this.#heldNano + amountNano > balance
  }

  check(request: LimitRequest): void {
    if (request.entry.tenant?.billing !== 'prepaid') return
    if (this.#baseNano === undefined) throw notLoaded(this.owner)
    if (this.isExceededBy(request)) throw this.error(request)
  }

  take({ amountNano }: LimitRequest): void {
    if (amountNano !== 0n) this.#heldNano += amountNano
  }

  release({ amountNano }: LimitRequest, { charge }: LimitEnd): void {
    if (amountNano !== 0n) this.#heldNano -= amountNano
    if (charge && charge.amountNano !== 0n) this.#settledNano += charge.amountNano
  }

  report({ entry, amountNano: needed }: LimitRequest): LimitUsage | undefined {
    if (entry.tenant?.billing !== 'prepaid') return undefined
    return { used: this.balanceNano, held: this.#heldNano, needed }
  }

  /** @param ledger The figures of the ledger, if it rejects a hold that passed here. */
  error(
    { amountNano: needed, currency }: Pick<LimitRequest, 'amountNano' | 'currency'>,
    ledger?: { readonly balanceNano: bigint; readonly heldNano: bigint },
  ): GwError {
    const { balanceNano: balance = 0n, heldNano: held } = ledger ?? this
    return new GwError(
      'insufficient_balance',
      `The prepaid balance of ${nameOf(this.owner)} does not cover this call, in ${currency}: ${numbers({ balance, held, needed })}.`,
    )
  }

  isIdle(): boolean {
    return this.#heldNano === 0n
  }
}
