import { GwError } from '../base/catalogue/wire.ts'
import type { BalanceShort } from '../schema/ledger.ts'
import type { DeclaredShare } from '../schema/shares.ts'
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
import { ALONE, declared, exceeds, LimitShares, type Part, type Sharing } from './shares/limit-shares.ts'

const INFO: LimitInfo = { name: 'balance', title: 'prepaid balance', unit: 'money' }

/**
 * The prepaid balance of a tenant: the ledger's balance, minus the amounts settled since it was queried. While this gateway is
 * alone, the store commits each hold, because debits take from the balance as well.
 */
export class Balance implements Limit {
  readonly owner: Owner
  #heldNano = 0n
  #settledNano = 0n
  #baseNano: bigint | undefined
  readonly #shares: LimitShares

  constructor(owner: Owner, sharing: Sharing = ALONE) {
    this.owner = owner
    this.#shares = new LimitShares(owner, sharing, () => this.#heldNano)
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

  part(request: LimitRequest): Part | undefined {
    if (!isPrepaid(request) || !this.#shares.areUsed) return undefined
    const share = this.#shares.of({ limit: 'balance', kind: 'sum', bound: 0n }, request)
    return share && { share, units: request.amountNano }
  }

  declare(request: LimitRequest): DeclaredShare | undefined {
    return declared(this.part(request))
  }

  isExceededBy(request: LimitRequest): boolean {
    const { amountNano } = request
    if (!isPrepaid(request)) return false
    const part = this.part(request)
    if (part) return amountNano > 0n && exceeds(part, request)
    const balance = this.balanceNano
    return balance !== undefined && amountNano > 0n && this.#heldNano + amountNano > balance
  }

  check(request: LimitRequest): void {
    if (!isPrepaid(request)) return
    if (this.#baseNano === undefined && !this.#shares.areUsed) throw notLoaded(this.owner, request)
    if (this.isExceededBy(request)) throw this.error(request)
  }

  take({ amountNano }: LimitRequest): void {
    if (amountNano !== 0n) this.#heldNano += amountNano
    this.#shares.take(amountNano)
  }

  release({ amountNano }: LimitRequest, { charge }: LimitEnd): void {
    if (amountNano !== 0n) this.#heldNano -= amountNano
    this.#shares.end(amountNano, charge?.amountNano ?? 0n)
    if (charge && charge.amountNano !== 0n) this.#settledNano += charge.amountNano
  }

  /**
   * The store has rejected a hold that was taken here. If shares are used since then, the balance does not cover
   * that part of the share: no other call may take it.
   *
   * @param settledThenNano The value of {@link settledNano} at the time of the hold.
   */
  uncovered(amountNano: bigint, short: BalanceShort, settledThenNano: bigint): void {
    this.setBalance(short.balanceNano, settledThenNano)
    this.#shares.end(0n, amountNano)
  }

  report(request: LimitRequest): LimitUsage | undefined {
    if (!isPrepaid(request)) return undefined
    const { balanceNano: used, heldNano: held } = this.usage(request)
    return { used, held, needed: request.amountNano }
  }

  /** Of all gateways, as far as this one knows. */
  usage(request: LimitRequest): { readonly balanceNano: bigint | undefined; readonly heldNano: bigint } {
    const share = this.part({ ...request, isReport: true })?.share
    return share ? { balanceNano: -share.spent, heldNano: share.held + share.leasedToOthers } : this
  }

  /** @param ledger The figures of the ledger, if it rejects a hold that passed here. */
  error(
    request: LimitRequest,
    ledger?: { readonly balanceNano: bigint; readonly heldNano: bigint },
  ): GwError {
    const { amountNano: needed, currency } = request
    const { balanceNano: balance = 0n, heldNano: held } = ledger ?? this.usage(request)
    return new GwError(
      'insufficient_balance',
      `The prepaid balance of ${nameOf(this.owner, request)} does not cover this call, in ${currency}: ${numbers({ balance, held, needed })}.`,
    )
  }

  isIdle(): boolean {
    return this.#heldNano === 0n
  }
}

function isPrepaid({ entry }: LimitRequest): boolean {
  return entry.tenant?.billing === 'prepaid'
}
