import type { DeclaredShare, ScopeName, ScopeTerms } from '../../schema/shares.ts'
import type { Share } from './share.ts'
import type { ShareHolder } from './share-holder.ts'

/** The shares of this gateway, once it is not alone any more. One object for all limits. */
export interface Sharing {
  holder: ShareHolder | undefined
}

/** A gateway that is alone. */
export const ALONE: Sharing = Object.freeze({ holder: undefined })

/** The parts of a `LimitRequest` that shares need. */
interface ShareUser {
  readonly revision: number
  readonly isReport?: boolean
}

/** A limit as a scope of the grantor. */
export interface ScopeOfLimit extends Pick<ScopeTerms, 'kind' | 'bound'> {
  /** The name of the scope, unique for its owner. */
  readonly limit: string
  readonly perMinute?: bigint
  readonly sinceMs?: number
}

/** The units of one share that a request needs. */
export interface Part {
  readonly share: Share
  readonly units: bigint
}

/**
 * The shares of one limit: usually one; a budget has one for each kind of window. While this gateway is alone there is none,
 * and the limit counts by itself.
 */
export class LimitShares {
  readonly #owner: string
  readonly #sharing: Sharing
  readonly #held: () => bigint
  #shares: readonly Share[] = []

  /** @param held What the open calls hold of the limit, also of those that began before there was a share. */
  constructor({ kind, account }: { kind: string; account: string }, sharing: Sharing, held: () => bigint) {
    this.#owner = `${kind} ${account}`
    this.#sharing = sharing
    this.#held = held
  }

  /** Whether this gateway admits from shares. */
  get areUsed(): boolean {
    return this.#sharing.holder !== undefined
  }

  /** The share that a request is admitted from; undefined while this gateway is alone, or if a report finds none yet. */
  of(scope: ScopeOfLimit, { revision, isReport }: ShareUser): Share | undefined {
    const { holder } = this.#sharing
    if (!holder) return undefined
    const name: ScopeName = { owner: this.#owner, limit: scope.limit }
    const known = this.#shares.find(share => share.scope.limit === scope.limit)
    if (isReport) {
      const reported = known ?? holder.find(name)
      return reported?.last && reported
    }
    const { kind, bound, perMinute = 0n, sinceMs = 0 } = scope
    const terms: ScopeTerms = { kind, bound, perMinute, revision, sinceMs }
    if (known) {
      known.updateTerms(terms)
      return known
    }
    const share = holder.share(name, terms, this.#held())
    this.#shares = [...this.#shares, share]
    return share
  }

  take(units: bigint): void {
    for (const share of this.#shares) share.take(units)
  }

  end(units: bigint, charged: bigint): void {
    for (const share of this.#shares) share.end(units, charged)
  }
}

/** Whether a limit rejects a request. A report asks no question: then the last answer of the grantor counts as well. */
export function exceeds({ share, units }: Part, { isReport }: ShareUser): boolean {
  return isReport ? !share.mayFit(units) : !share.fits(units)
}

/** The beginning of a share: what the gateway used of a limit that was its own. */
export function declared(part: Part | undefined, level = 0n): DeclaredShare | undefined {
  if (!part) return undefined
  const { share } = part
  share.declare()
  const { scope, terms, held: amount } = share
  return amount > 0n || level > 0n ? { scope, terms, amount, level } : undefined
}
