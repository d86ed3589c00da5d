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
 * Slows guessing down, per account and address, and per address over all accounts; in memory, of one process. Of IPv6
 * the first half counts as an address: whoever has one has all that follow it.
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
    return this.#known.has(pairOf(account, networkOf(address)))
  }

  /** Milliseconds until the next attempt may be made; 0: now. */
  pauseMs(account: string, address: string): number {
    const network = networkOf(address)
    const pair = this.#pauseOf(this.#ofPair, pairOf(account, network), FREE_OF_PAIR)
    if (this.isKnown(account, address)) return pair
    return Math.max(pair, this.#pauseOf(this.#ofAddress, network, FREE_OF_ADDRESS))
  }

  failed(account: string, address: string): void {
    const network = networkOf(address)
    this.#count(this.#ofPair, pairOf(account, network))
    this.#count(this.#ofAddress, network)
  }

  succeeded(account: string, address: string): void {
    const pair = pairOf(account, networkOf(address))
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

/** What is told apart: an address, or the /64 of one of IPv6 (RFC 4291 §2.5.4). An account comes behind the space. */
function pairOf(account: string, network: string): string {
  return `${network} ${account}`
}

/** @param address as node:net writes it: `192.0.2.1`, `::ffff:192.0.2.1`, `2001:db8::1`, `fe80::1%eth0`. */
function networkOf(address: string): string {
  if (!address.includes(':')) return address
  const mapped = /^::ffff:([\d.]+)$/i.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  const [head = [], tail] = address
    .replace(/%.*$/, '')
    .split('::')
    .map(groups => groups.split(':').filter(group => group !== ''))
  const zeros = tail ? Array<string>(8 - head.length - tail.length).fill('0') : []
  return [...head, ...zeros, ...(tail ?? [])].slice(0, 4).join(':')
}

function shorten(remembered: Map<string, unknown> | Set<string>): void {
  if (remembered.size <= MAX_REMEMBERED) return
  const [oldest] = remembered.keys()
  if (oldest !== undefined) remembered.delete(oldest)
}
