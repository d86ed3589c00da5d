import type { KeySums, KeySumsQuery } from '../schema/ledger.ts'
import type { KeyEntry, Snapshot } from '../snapshot/types.ts'
import { Calendar, QUARTER_MS } from './calendar.ts'
import type { Limit } from './limit.ts'
import { createLimits, type KeyLimits, type TenantLimits } from './limits.ts'
import type { Sharing } from './shares/limit-shares.ts'

/**
 * The ledger queries that a limiter needs before it can admit some keys. They refer to the time of their creation: pass
 * `queries` and `tenants` to the ledger in the same tick, and each answer to its callback at any later time. Amounts
 * settled meanwhile count once.
 */
export interface BalanceQuery {
  readonly queries: readonly KeySumsQuery[]
  readonly answerSums: (sums: readonly KeySums[]) => void
  /** Tenants to query the prepaid balance of. */
  readonly tenants: readonly string[]
  readonly answerBalances: (balanceNano: ReadonlyMap<string, bigint>) => void
}

/** Accounts in a snapshot, of keys and of tenants. */
interface CountedState {
  readonly keys: ReadonlySet<string>
  readonly tenants: ReadonlySet<string>
}

/**
 * The limit states of keys and tenants. They are outside of the snapshot, so that a reload keeps their usage. The state
 * of a removed key or tenant is deleted once it has no request in flight and its rates are full.
 */
export class LimitStates {
  /** All limits refer to it. */
  readonly sharing: Sharing = { holder: undefined }
  readonly #keys = new Map<string, KeyLimits>()
  readonly #tenants = new Map<string, TenantLimits>()
  readonly #calendar = new Calendar()
  #served: Snapshot | undefined
  /** The next snapshot, whose states must be loaded before it is served. */
  #prospective: Snapshot | undefined
  /** The accounts of both snapshots; computed on demand. */
  #counted: CountedState | undefined

  /** @param account The account of the key, which stays the same if the key is renamed. */
  key(account: string): KeyLimits {
    let state = this.#keys.get(account)
    if (!state) {
      state = createLimits('key', account, this.sharing, this.#calendar)
      this.#keys.set(account, state)
    }
    return state
  }

  tenant(account: string): TenantLimits {
    let state = this.#tenants.get(account)
    if (!state) {
      state = createLimits('tenant', account, this.sharing, this.#calendar)
      this.#tenants.set(account, state)
    }
    return state
  }

  /** Like {@link key}, but stores no new state: a key without usage equals a new one. */
  lookUpKey(account: string): KeyLimits {
    return this.#keys.get(account) ?? createLimits('key', account, this.sharing, this.#calendar)
  }

  lookUpTenant(account: string): TenantLimits {
    return this.#tenants.get(account) ?? createLimits('tenant', account, this.sharing, this.#calendar)
  }

  get size(): number {
    return this.#keys.size + this.#tenants.size
  }

  /** The query for everything not loaded yet of the keys and prepaid tenants of the next snapshot. */
  balanceQuery(snapshot: Snapshot, nowMs: number): BalanceQuery {
    this.#prospective = snapshot
    this.#counted = undefined
    const asked = new Map<string, { query: KeySumsQuery; answer: (sums: KeySums) => void }>()
    // A key has an entry for each of its secrets; its limits are the same in all.
    for (const { account, quotaTokens, budget } of snapshot.keys.values()) {
      if ((quotaTokens === undefined && budget === undefined) || asked.has(account)) continue
      const limits = this.key(account)
      const window = budget && limits.budget.query(budget, nowMs)
      const isLoaded = quotaTokens === undefined || limits.quota.spentTokens !== undefined
      if (isLoaded && (!window || window.isLoaded)) continue
      const answerTokens = limits.quota.query()
      const sinceMs = window && window.startMs > 0 ? window.startMs : nowMs - (nowMs % QUARTER_MS)
      asked.set(account, {
        query: { key: account, sinceMs },
        answer: sums => {
          answerTokens(sums.totalTokens)
          window?.answer(sums)
        },
      })
    }
    const tenants = [...snapshot.tenants.values()].filter(
      ({ account, billing }) =>
        billing === 'prepaid' && this.tenant(account).balance.balanceNano === undefined,
    )
    return {
      queries: [...asked.values()].map(({ query }) => query),
      answerSums: sums => {
        for (const sum of sums) asked.get(sum.key)?.answer(sum)
      },
      ...this.walletQuery(tenants.map(({ account }) => account)),
    }
  }

  /** The limits that have a state, with the entry that has their values, by the served snapshot. */
  *inUse(): Generator<{ readonly entry: KeyEntry; readonly limit: Limit }> {
    const seen = new Set<object>()
    for (const entry of this.#served?.keys.values() ?? []) {
      const states = [this.#keys.get(entry.account), entry.tenant && this.#tenants.get(entry.tenant.account)]
      for (const limits of states) {
        if (!limits || seen.has(limits)) continue
        seen.add(limits)
        for (const limit of Object.values<Limit>(limits)) yield { entry, limit }
      }
    }
  }

  get servedRevision(): number {
    return this.#served?.revision ?? 0
  }

  /** The query for balances that other processes changed. Skips tenants without a state. */
  walletQuery(accounts: readonly string[]): Pick<BalanceQuery, 'tenants' | 'answerBalances'> {
    const asked = new Map<string, (balanceNano: bigint) => void>()
    for (const account of accounts) {
      const state = this.#tenants.get(account)
      if (state) asked.set(account, state.balance.query())
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
   * Deletes the idle states of removed keys and tenants, in steps, because there may be a hundred thousand. A new
   * snapshot ends it; the next run continues.
   */
  *forgetting(tickMs: number): Generator<undefined, void> {
    const served = this.#served
    const prospective = this.#prospective
    const isOld = () => served !== this.#served || prospective !== this.#prospective
    const counted = this.#counted ?? (yield* countedIn(served, prospective))
    if (isOld()) return
    this.#counted = counted
    for (const [name, limits] of this.#keys) {
      if (!counted.keys.has(name) && isIdle(limits, tickMs)) this.#keys.delete(name)
      yield
      if (isOld()) return
    }
    for (const [name, limits] of this.#tenants) {
      if (!counted.tenants.has(name) && isIdle(limits, tickMs)) this.#tenants.delete(name)
      yield
      if (isOld()) return
    }
  }
}

function isIdle(limits: Readonly<Record<string, Limit>>, tickMs: number): boolean {
  return Object.values(limits).every(limit => limit.isIdle(tickMs))
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
