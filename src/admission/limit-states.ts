import type { KeySums, KeySumsQuery } from '../schema/ledger.ts'
import type { Snapshot } from '../snapshot/types.ts'
import { KeyAccount, Wallet } from './accounts.ts'
import { Calendar } from './calendar.ts'
import { RateState } from './rate-state.ts'

export interface KeyLimitState {
  readonly rates: RateState
  readonly account: KeyAccount
}

export interface TenantLimitState {
  readonly rates: RateState
  readonly wallet: Wallet
}

/**
 * What a limiter must know of the ledger before it can admit some keys. It stands for the moment in which it was
 * made: give `queries` and `tenants` to the ledger in the same turn of the event loop, and each answer to the
 * function beside it, whenever it comes. What is settled meanwhile is counted once.
 */
export interface BalanceQuery {
  readonly queries: readonly KeySumsQuery[]
  readonly answerSums: (sums: readonly KeySums[]) => void
  /** Tenants whose prepaid balance is wanted. */
  readonly tenants: readonly string[]
  readonly answerBalances: (balanceNano: ReadonlyMap<string, bigint>) => void
}

/** Accounts in a snapshot, of keys and of tenants. */
interface CountedState {
  readonly keys: ReadonlySet<string>
  readonly tenants: ReadonlySet<string>
}

/**
 * The keys and tenants that limits are counted for, outside the snapshot: a reload keeps what they have used. One
 * that is gone from the configuration is forgotten as soon as nothing of it is under way and its rates are full.
 */
export class LimitStates {
  readonly #keys = new Map<string, KeyLimitState>()
  readonly #tenants = new Map<string, TenantLimitState>()
  readonly #calendar = new Calendar()
  #served: Snapshot | undefined
  /** About to be served: what is loaded for it must be there when it is. */
  #prospective: Snapshot | undefined
  /** Of these two; made when it is needed, because a snapshot is served without it. */
  #counted: CountedState | undefined

  /** @param account of the key: what it has used follows it under another name. */
  key(account: string): KeyLimitState {
    let state = this.#keys.get(account)
    if (!state) {
      state = { rates: new RateState('key', account), account: new KeyAccount() }
      this.#keys.set(account, state)
    }
    return state
  }

  tenant(account: string): TenantLimitState {
    let state = this.#tenants.get(account)
    if (!state) {
      state = { rates: new RateState('tenant', account), wallet: new Wallet() }
      this.#tenants.set(account, state)
    }
    return state
  }

  /** The same, without remembering it where it is not counted yet: what has used nothing is like new. */
  lookUpKey(account: string): KeyLimitState {
    return this.#keys.get(account) ?? { rates: new RateState('key', account), account: new KeyAccount() }
  }

  lookUpTenant(account: string): TenantLimitState {
    return this.#tenants.get(account) ?? { rates: new RateState('tenant', account), wallet: new Wallet() }
  }

  get size(): number {
    return this.#keys.size + this.#tenants.size
  }

  /** What is not known yet of the keys and prepaid tenants of a snapshot that is about to be served. */
  balanceQuery(snapshot: Snapshot, nowMs: number): BalanceQuery {
    this.#prospective = snapshot
    this.#counted = undefined
    const asked = new Map<string, { query: KeySumsQuery; answer: (sums: KeySums) => void }>()
    // A key has an entry for each of its secrets; its limits are the same in all.
    for (const { account, quotaTokens, budget } of snapshot.keys.values()) {
      if ((quotaTokens === undefined && budget === undefined) || asked.has(account)) continue
      const missing = this.key(account).account.ask({ quotaTokens, budget }, this.#calendar, nowMs)
      if (!missing) continue
      asked.set(account, { query: { key: account, sinceMs: missing.sinceMs }, answer: missing.answer })
    }
    const tenants = [...snapshot.tenants.values()].filter(
      ({ account, billing }) =>
        billing === 'prepaid' && this.tenant(account).wallet.balanceNano === undefined,
    )
    return {
      queries: [...asked.values()].map(({ query }) => query),
      answerSums: sums => {
        for (const sum of sums) asked.get(sum.key)?.answer(sum)
      },
      ...this.walletQuery(tenants.map(({ account }) => account)),
    }
  }

  /** Asks anew for balances that were credited or debited elsewhere. Tenants that nobody counts are passed over. */
  walletQuery(accounts: readonly string[]): Pick<BalanceQuery, 'tenants' | 'answerBalances'> {
    const asked = new Map<string, (balanceNano: bigint) => void>()
    for (const account of accounts) {
      const state = this.#tenants.get(account)
      if (state) asked.set(account, state.wallet.ask())
    }
    return {
      tenants: [...asked.keys()],
      answerBalances: balances => {
        for (const [name, balanceNano] of balances) asked.get(name)?.(balanceNano)
      },
    }
  }

  /** The snapshot is served from now on. */
  adopt(snapshot: Snapshot): void {
    this.#served = snapshot
    this.#prospective = undefined
    this.#counted = undefined
  }

  /**
   * Forgets who is gone from the configuration and has nothing under way, in steps: there may be a hundred thousand to
   * look at. A snapshot that comes in between ends it; the next time is soon enough.
   */
  *forgetting(tickMs: number): Generator<undefined, void> {
    const served = this.#served
    const prospective = this.#prospective
    const isOld = () => served !== this.#served || prospective !== this.#prospective
    const counted = this.#counted ?? (yield* countedIn(served, prospective))
    if (isOld()) return
    this.#counted = counted
    for (const [name, { rates, account }] of this.#keys) {
      if (!counted.keys.has(name) && account.isIdle && rates.isIdle(tickMs)) this.#keys.delete(name)
      yield
      if (isOld()) return
    }
    for (const [name, { rates, wallet }] of this.#tenants) {
      if (!counted.tenants.has(name) && wallet.isIdle && rates.isIdle(tickMs)) this.#tenants.delete(name)
      yield
      if (isOld()) return
    }
  }
}

function* countedIn(...snapshots: readonly (Snapshot | undefined)[]): Generator<undefined, CountedState> {
  const keys = new Set<string>()
  const tenants = new Set<string>()
  for (const snapshot of snapshots) {
    if (!snapshot) continue
    for (const { account } of snapshot.keys.values()) {
      keys.add(account)
      yield
    }
    for (const { account } of snapshot.tenants.values()) {
      tenants.add(account)
      yield
    }
  }
  return { keys, tenants }
}
