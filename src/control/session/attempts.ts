import type { Clock } from '../../base/clock.ts'

interface Failures {
  count: number
  lastMs: number
}

/** So many failures cost nothing: people mistype. */
const FREE_OF_PAIR = 5
const FREE_OF_ADDRESS = 20
const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 30_000
/** Failures are forgotten when none has followed for so long. */
const FORGET_MS = 15 * 60_000
const MAX_REMEMBERED = 10_000

/**
 * Slows guessing down, per account and address, and per address over all accounts; in memory, of one process.
 *
 * It never locks an account: failures from elsewhere do not count against an address from which the account has
 * logged in before, a pause is half a minute at the longest, and attempts within it do not prolong it.
 */
export class Attempts {
  readonly #clock: Clock
  readonly #ofPair = new Map<string, Failures>()
  readonly #ofAddress = new Map<string, Failures>()
  /** Pairs that have logged in. */
  readonly #known = new Set<string>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  isKnown(account: string, address: string): boolean {
    return this.#known.has(pairOf(account, address))
  }

  /** Milliseconds until the next attempt may be made; 0: now. */
  pauseMs(account: string, address: string): number {
    const pair = this.#pauseOf(this.#ofPair, pairOf(account, address), FREE_OF_PAIR)
    if (this.isKnown(account, address)) return pair
    return Math.max(pair, this.#pauseOf(this.#ofAddress, address, FREE_OF_ADDRESS))
  }

  failed(account: string, address: string): void {
    this.#count(this.#ofPair, pairOf(account, address))
    this.#count(this.#ofAddress, address)
  }

  succeeded(account: string, address: string): void {
    const pair = pairOf(account, address)
    this.#ofPair.delete(pair)
    // Moved to the end: the first ones of a set are its oldest.
    this.#known.delete(pair)
    this.#known.add(pair)
    shorten(this.#known)
  }

  #pauseOf(failures: ReadonlyMap<string, Failures>, name: string, free: number): number {
    const { count, lastMs } = failures.get(name) ?? { count: 0, lastMs: 0 }
    const sinceMs = this.#clock.monotonicMs() - lastMs
    if (count < free || sinceMs > FORGET_MS) return 0
    const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(count - free, 16), LONGEST_PAUSE_MS)
    return Math.max(0, pauseMs - sinceMs)
  }

  #count(failures: Map<string, Failures>, name: string): void {
    const nowMs = this.#clock.monotonicMs()
    const before = failures.get(name)
    const goesOn = before && nowMs - before.lastMs <= FORGET_MS
    failures.delete(name)
    failures.set(name, { count: goesOn ? before.count + 1 : 1, lastMs: nowMs })
    shorten(failures)
  }
}

/** A name of an account holds no space. */
function pairOf(account: string, address: string): string {
  return `${account} ${address}`
}

function shorten(remembered: Map<string, unknown> | Set<string>): void {
  if (remembered.size <= MAX_REMEMBERED) return
  const [oldest] = remembered.keys()
  if (oldest !== undefined) remembered.delete(oldest)
}
