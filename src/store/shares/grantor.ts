import type {
  DeclaredShare,
  ScopeName,
  ScopeTerms,
  ShareAnswer,
  ShareMessage,
  ShareReply,
  ShareRequest,
} from '../../schema/shares.ts'
import {
  declaredScope,
  granted,
  newScope,
  recovered,
  repeated,
  type ScopeState,
  windowStart,
} from './rules.ts'

/** One event loop that admits calls from its shares. Its id is never used again. */
export interface InstanceState {
  /** Of the last message that had its effect. */
  readonly number: number
  /** Store's clock; undefined: it holds its shares until its process ends. */
  readonly expiresAtMs: number | undefined
  /** Its shares are lost, and are given to others as soon as they are recovered. */
  readonly isFenced: boolean
}

/** The tables of the grantor. Each call of the grantor is one transaction that no other one overlaps. */
export interface ShareTables {
  instance(id: string): InstanceState | undefined
  saveInstance(id: string, state: InstanceState): void
  deleteInstance(id: string): void
  /** The number of instances that are not fenced. */
  liveInstances(): number
  scope(name: ScopeName): ScopeState | undefined
  saveScope(name: ScopeName, state: ScopeState): void
  /** Undefined: none. */
  share(id: string, name: ScopeName): bigint | undefined
  /** @param amount 0: deletes the row. */
  saveShare(id: string, name: ScopeName, amount: bigint): void
  sharesOf(id: string): readonly { readonly scope: ScopeName; readonly amount: bigint }[]
  /** The scopes that are wanted, and of which the instance has a share. */
  recalled(id: string): readonly ScopeName[]
  /** The sum of the ledger for a scope of the kind `sum`; of a balance: below zero, see `ScopeKind`. */
  spent(name: ScopeName, sinceMs: number): bigint
}

export interface GrantorOptions {
  /** How long an instance holds its shares after each message; undefined: until its process ends. */
  readonly leaseMs: number | undefined
}

/**
 * Grants shares of limits to instances, by the rules of `rules.ts`.
 *
 *     join ──▶ apply, apply … ──▶ leave
 *                   │
 *                   └─ no message in time, or its process is dead ──▶ fence ──▶ recover, until no hold is open
 */
export class Grantor {
  readonly #tables: ShareTables
  readonly #leaseMs: number | undefined

  constructor(tables: ShareTables, { leaseMs }: GrantorOptions) {
    this.#tables = tables
    this.#leaseMs = leaseMs
  }

  join(id: string, nowMs: number): void {
    if (this.#tables.instance(id)) throw new Error(`instance ${id} has joined before`)
    this.#tables.saveInstance(id, { number: 0, isFenced: false, expiresAtMs: this.#expiry(nowMs) })
  }

  /** An instance that was alone until now declares what it uses: that becomes its shares, the first of all. */
  declare(id: string, shares: readonly DeclaredShare[], nowMs: number): void {
    for (const share of shares) {
      this.#tables.saveScope(share.scope, declaredScope(share, nowMs))
      this.#tables.saveShare(id, share.scope, share.amount)
    }
  }

  /** Carries a message out, once. A repeated one gets the present shares, without a grant. */
  apply({ instance: id, number, requests }: ShareMessage, nowMs: number): ShareReply {
    const instance = this.#tables.instance(id)
    if (!instance || instance.isFenced) return { is: 'fenced' }
    const isNew = number > instance.number
    this.#tables.saveInstance(id, {
      ...instance,
      number: Math.max(number, instance.number),
      expiresAtMs: this.#expiry(nowMs),
    })
    const live = this.#tables.liveInstances()
    const answers = requests.map(request =>
      isNew ? this.#grant(id, request, live, nowMs) : this.#repeat(id, request, nowMs),
    )
    return { is: 'granted', answers, recalled: this.#tables.recalled(id) }
  }

  /**
   * Whether a hold of the instance may be written: the condition of the statement that writes it. So holds are exact,
   * whatever the clocks, pauses and networks of instances do; a lease decides only how soon others get its shares.
   */
  mayHold(id: string): boolean {
    return this.#tables.instance(id)?.isFenced === false
  }

  /**
   * Takes its shares from an instance.
   * @param isDead Its process has ended for certain. Otherwise only an instance that sent no message in time is fenced.
   * @returns false if it was not fenced.
   */
  fence(id: string, nowMs: number, isDead: boolean): boolean {
    const instance = this.#tables.instance(id)
    if (!instance) return false
    const isExpired = instance.expiresAtMs !== undefined && instance.expiresAtMs <= nowMs
    if (!isDead && !isExpired) return instance.isFenced
    this.#tables.saveInstance(id, { ...instance, isFenced: true })
    return true
  }

  /**
   * Frees the shares of a fenced instance, except for its open holds; must be called again when they have ended.
   * @param heldOf The amount of its holds that are open in the ledger, with all its ends in the ledger; of permits: their number.
   * @returns whether everything is free, and the instance is deleted.
   */
  recover(id: string, heldOf: (scope: ScopeName) => bigint, nowMs: number): boolean {
    const tables = this.#tables
    const instance = tables.instance(id)
    if (!instance) return true
    if (!instance.isFenced) throw new Error(`instance ${id} is not fenced`)
    let isDone = true
    for (const { scope: name, amount } of tables.sharesOf(id)) {
      const before = tables.scope(name)
      if (!before) throw new Error(`${name.owner} has a share of ${name.limit}, which is unknown`)
      const after = recovered(before, amount, heldOf(name), nowMs)
      tables.saveScope(name, after.scope)
      tables.saveShare(id, name, after.amount)
      if (after.amount > 0n) isDone = false
    }
    if (isDone) tables.deleteInstance(id)
    return isDone
  }

  /** An instance without open holds ends: what it has not returned counts as for a fenced one. */
  leave(id: string, nowMs: number): void {
    if (this.fence(id, nowMs, true)) this.recover(id, () => 0n, nowMs)
  }

  #grant(id: string, request: ShareRequest, live: number, nowMs: number): ShareAnswer {
    const { scope: name, terms } = request
    const scope = this.#tables.scope(name) ?? newScope(terms, nowMs)
    const after = granted(scope, this.#tables.share(id, name) ?? 0n, request, {
      spent: this.#spent(name, scope, terms, nowMs),
      // Debits take from a balance as well: no instance gets all of it.
      live: name.limit === 'balance' ? live + 1 : live,
      nowMs,
    })
    this.#tables.saveScope(name, after.scope)
    this.#tables.saveShare(id, name, after.amount)
    return after.answer
  }

  #repeat(id: string, { scope: name, terms }: ShareRequest, nowMs: number): ShareAnswer {
    const scope = this.#tables.scope(name) ?? newScope(terms, nowMs)
    return repeated(scope, this.#tables.share(id, name) ?? 0n, this.#spent(name, scope, terms, nowMs))
  }

  #spent(name: ScopeName, scope: ScopeState, { kind, sinceMs }: ScopeTerms, nowMs: number): bigint {
    return kind === 'sum' ? this.#tables.spent(name, windowStart(scope.sinceMs, sinceMs, nowMs)) : 0n
  }

  #expiry(nowMs: number): number | undefined {
    return this.#leaseMs === undefined ? undefined : nowMs + this.#leaseMs
  }
}
