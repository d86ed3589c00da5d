import type { ScopeName, ScopeTerms, ShareMessage, ShareReply } from '../../schema/shares.ts'
import { Share } from './share.ts'

/** The part of a lease in which shares are used: clocks of two machines do not run equally fast. */
const USED_PART = 0.9

export interface ShareHolderOptions {
  readonly instance: string
  /** As the grantor's; undefined: the shares are held until the process ends. */
  readonly leaseMs: number | undefined
}

/** All shares of one instance, and the one message to the grantor that may be on its way. */
export class ShareHolder {
  readonly instance: string
  readonly #leaseMs: number | undefined
  readonly #shares = new Map<string, Share>()
  /** Those that may be due: few of very many. */
  readonly #touched = new Set<Share>()
  #number = 0
  #sent:
    | { readonly message: ShareMessage; readonly shares: readonly Share[]; readonly tickMs: number }
    | undefined
  #validUntilMs: number
  #isFenced = false

  /** @param tickMs Monotonic clock, before the instance joined. */
  constructor({ instance, leaseMs }: ShareHolderOptions, tickMs: number) {
    this.instance = instance
    this.#leaseMs = leaseMs
    this.#validUntilMs = this.#validity(tickMs)
  }

  /** Whether calls may be admitted from the shares. */
  isValid(tickMs: number): boolean {
    return !this.#isFenced && tickMs < this.#validUntilMs
  }

  /** The grantor has taken the shares: the process must join again, as a new instance. */
  get isFenced(): boolean {
    return this.#isFenced
  }

  /** @param held By calls that were admitted before there was a share. */
  share(scope: ScopeName, terms: ScopeTerms, held = 0n): Share {
    const id = idOf(scope)
    let share = this.#shares.get(id)
    if (!share) {
      share = new Share(scope, terms, held, touched => this.#touched.add(touched))
      this.#shares.set(id, share)
    }
    return share
  }

  /** Undefined if there is no share of it yet. */
  find(scope: ScopeName): Share | undefined {
    return this.#shares.get(idOf(scope))
  }

  get shares(): Iterable<Share> {
    return this.#shares.values()
  }

  /** Whether a message must be answered, or repeated, before the next one. */
  get isWaiting(): boolean {
    return this.#sent !== undefined
  }

  /** Everything that is due; may be empty, and then renews the lease. @param all Returns what is not held. */
  message(tickMs: number, all = false): ShareMessage {
    if (this.#sent) throw new Error('the last message has not been answered')
    const shares = all ? [...this.#shares.values()] : [...this.#touched].filter(share => share.isDue)
    this.#touched.clear()
    const requests = shares.map(share => share.request(all))
    const message = { instance: this.instance, number: ++this.#number, requests }
    this.#sent = { message, shares, tickMs }
    return message
  }

  /** The message whose answer was lost, once more. Its lease counts from the first time: that one may have arrived. */
  repeat(): ShareMessage {
    if (!this.#sent) throw new Error('every message has been answered')
    return this.#sent.message
  }

  /** @param number Of the message; a reply to an earlier one is without effect. */
  reply(number: number, reply: ShareReply, tickMs: number): void {
    const sent = this.#sent
    if (!sent || sent.message.number !== number || this.#isFenced) return
    this.#sent = undefined
    if (reply.is === 'fenced') {
      this.#isFenced = true
      for (const share of this.#shares.values()) share.lose()
      return
    }
    // From before it was sent: the grantor counts from when it arrived.
    this.#validUntilMs = this.#validity(sent.tickMs)
    for (const [index, share] of sent.shares.entries()) {
      const answer = reply.answers[index]
      if (answer) share.answer(answer, tickMs)
      // It may have less than the next calls need.
      this.#touched.add(share)
    }
    this.recall(reply.recalled)
  }

  /** Other instances need what this one does not use of these limits. */
  recall(scopes: readonly ScopeName[]): void {
    for (const scope of scopes) this.#shares.get(idOf(scope))?.recall()
  }

  /** Whether a message would have a request. */
  get isDue(): boolean {
    return [...this.#touched].some(share => share.isDue)
  }

  #validity(tickMs: number): number {
    return this.#leaseMs === undefined ? Number.POSITIVE_INFINITY : tickMs + this.#leaseMs * USED_PART
  }
}

function idOf({ owner, limit }: ScopeName): string {
  // No name contains a line break (schema/scalars.ts).
  return `${owner}\n${limit}`
}
