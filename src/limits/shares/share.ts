import type { ScopeName, ScopeTerms, ShareAnswer, ShareRequest } from '../../schema/shares.ts'

/** After an answer without a grant: how soon others may have returned something. */
const ASK_AGAIN_MS = 100

/** The part of a request whose answer is missing. */
interface Sent {
  readonly used: bigint
  readonly corrected: bigint
  readonly returned: bigint
  readonly least: bigint
}

/**
 * The share of one instance in one limit. Calls are admitted from it without I/O; requests to the grantor report what
 * was used, and make it larger. Amounts leave it before the grantor hears of them, and join it with the answer: so at any
 * time it is at most what the grantor has leased.
 */
export class Share {
  readonly scope: ScopeName
  #terms: ScopeTerms
  readonly #onTouched: (share: Share) => void
  /** As of the last answer. */
  #amount = 0n
  /** By open holds, or permits. Of a rate: 0, its units are used at once. */
  #held = 0n
  #used = 0n
  #corrected = 0n
  #sent: Sent | undefined
  /** Of the calls that wait for more: what the smallest one needs, and what all need. */
  #smallest = 0n
  #needed = 0n
  #isRecalled = false
  /** The grantor has not heard of the terms, or its answer is too old. */
  #isChanged = false
  /** Taken since the last request, and before it: what the next calls will take. */
  #taken = 0n
  #takenBefore = 0n
  #last: ShareAnswer | undefined
  /** Monotonic clock: until then the grantor has no more than it had. */
  #exhaustedUntilMs = Number.NEGATIVE_INFINITY

  /**
   * @param held By calls that were admitted before there was a share.
   * @param onTouched Called when it may have become due.
   */
  constructor(
    scope: ScopeName,
    terms: ScopeTerms,
    held = 0n,
    onTouched: (share: Share) => void = () => undefined,
  ) {
    this.scope = scope
    this.#terms = terms
    this.#held = held
    this.#onTouched = onTouched
  }

  get terms(): ScopeTerms {
    return this.#terms
  }

  /** A newer revision of the limit, or a later window. */
  setTerms(terms: ScopeTerms): void {
    this.#isChanged ||= terms.revision !== this.#terms.revision || terms.sinceMs !== this.#terms.sinceMs
    this.#terms = terms
    this.#onTouched(this)
  }

  /** The same, unless the revision is older: calls that began before a reload still come. A clock may be set back. */
  updateTerms(terms: ScopeTerms): void {
    const { revision, sinceMs } = this.#terms
    if (terms.revision > revision || (terms.revision === revision && terms.sinceMs !== sinceMs))
      this.setTerms(terms)
  }

  /** Turns the held amount into the share: until now the whole limit belonged to this instance. */
  declare(): void {
    this.#amount = this.#held
  }

  /** The amount for further calls; below zero if a charge was larger than its hold. */
  get available(): bigint {
    const sent = this.#sent ? this.#sent.used + this.#sent.returned : 0n
    return this.#amount - sent - this.#used - this.#held
  }

  get held(): bigint {
    return this.#held
  }

  /** The last answer; undefined before the first one. */
  get last(): ShareAnswer | undefined {
    return this.#last
  }

  /** Whether a call can be admitted. */
  fits(units: bigint): boolean {
    return this.#capped(units) <= this.available
  }

  /** Whether a call could be admitted, if the grantor still has what it had. */
  mayFit(units: bigint): boolean {
    return this.#capped(units) <= this.available + this.#free
  }

  /** Of a sum: spent by all instances, as far as this one knows. */
  get spent(): bigint {
    return (this.#last?.spent ?? 0n) + (this.#sent?.used ?? 0n) + this.#used
  }

  /** What the other instances have, of the last answer. */
  get leasedToOthers(): bigint {
    return this.#last ? this.#last.leased - this.#last.amount : 0n
  }

  /** What could be taken, as of the last answer. */
  get remaining(): bigint {
    const { available } = this
    return available + this.#free
  }

  get #free(): bigint {
    return this.#last && this.#last.free > 0n ? this.#last.free : 0n
  }

  /** Takes the part of a call, after {@link fits} at the same time. */
  take(units: bigint): void {
    this.#taken += units
    this.#onTouched(this)
    if (this.#terms.kind !== 'rate') this.#held += units
    else {
      const used = this.#capped(units)
      this.#used += used
      this.#corrected += units - used
    }
  }

  /** Ends the part of a call. @param charged The amount that it really used; without effect on permits. */
  end(units: bigint, charged: bigint): void {
    this.#onTouched(this)
    if (this.#terms.kind === 'rate') this.#corrected += charged - units
    else {
      this.#held -= units
      if (this.#terms.kind === 'sum') this.#used += charged
    }
  }

  /** A call waits for this amount: the next request asks for it. */
  need(units: bigint): void {
    const needed = this.#capped(units)
    if (needed <= this.available) return
    this.#smallest = this.#smallest === 0n || needed < this.#smallest ? needed : this.#smallest
    this.#needed += needed
    this.#onTouched(this)
  }

  /** Whether the grantor is known to have too little. Then a request would be in vain. */
  isExhausted(units: bigint, tickMs: number): boolean {
    return tickMs < this.#exhaustedUntilMs && this.#capped(units) - this.available > this.#free
  }

  /** Until more can be granted; 0 if that is unknown. */
  waitMs(tickMs: number): number {
    return this.#last?.waitMs ? Math.max(0, this.#exhaustedUntilMs - tickMs) : 0
  }

  /** Whether the next message must have a request of it. */
  get isDue(): boolean {
    return (
      this.#isChanged ||
      this.#used !== 0n ||
      this.#corrected !== 0n ||
      this.#smallest > 0n ||
      this.#isLow ||
      (this.#isRecalled && this.available > 0n)
    )
  }

  get #isLow(): boolean {
    return this.available * 2n < this.#takenBefore
  }

  /** The next request; must be answered, or repeated, before another one. @param all Returns everything that is not held. */
  request(all = false): ShareRequest {
    if (this.#sent) throw new Error(`a request about ${this.scope.limit} has not been answered`)
    const { available } = this
    const returned = (all || this.#isRecalled) && available > 0n ? available : 0n
    // An answer may have come since the call began to wait.
    const missing = this.#smallest - (available - returned)
    const least = this.#smallest > 0n && missing > 0n ? missing : 0n
    const expected = this.#taken > this.#takenBefore ? this.#taken : this.#takenBefore
    const most = all ? 0n : least > 0n ? this.#needed + expected : this.#isLow ? expected : 0n
    this.#sent = { used: this.#used, corrected: this.#corrected, returned, least }
    this.#used = 0n
    this.#corrected = 0n
    this.#smallest = 0n
    this.#needed = 0n
    this.#isRecalled = false
    this.#isChanged = false
    this.#takenBefore = this.#taken
    this.#taken = 0n
    const { used, corrected } = this.#sent
    return { scope: this.scope, terms: this.#terms, used, corrected, returned, least, most }
  }

  answer(answer: ShareAnswer, tickMs: number): void {
    const sent = this.#sent
    if (!sent) throw new Error(`an answer about ${this.scope.limit} without a request`)
    this.#sent = undefined
    this.#amount = answer.amount
    this.#last = answer
    // Others may return what they do not use.
    if (sent.least > 0n && answer.granted === 0n && this.leasedToOthers === 0n) this.exhaust(tickMs)
  }

  /** The grantor has too little, also after others had the time to return what they do not use. */
  exhaust(tickMs: number): void {
    this.#exhaustedUntilMs = tickMs + (this.#last?.waitMs || ASK_AGAIN_MS)
  }

  /** For reports alone: what the grantor has, without a request. */
  observe({ free, spent }: Pick<ShareAnswer, 'free' | 'spent'>): void {
    this.#last = { amount: 0n, granted: 0n, free, spent, leased: 0n, waitMs: 0 }
  }

  /** The next message must have a request of it, so that its answer has what others use by then. */
  refresh(): void {
    this.#isChanged = true
    this.#onTouched(this)
  }

  /** Another instance waits for it: the next request returns everything that is not held. */
  recall(): void {
    this.#isRecalled = true
    this.#onTouched(this)
  }

  /** The grantor has given the share to others. Open holds stay: their ends are charged. */
  lose(): void {
    this.#sent = undefined
    this.#amount = 0n
    this.#used = 0n
    this.#corrected = 0n
  }

  #capped(units: bigint): bigint {
    const { kind, bound } = this.#terms
    return kind === 'rate' && units > bound ? bound : units
  }
}
