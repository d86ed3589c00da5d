import type { Clock } from '../../base/clock.ts'
import { ipv6Groups } from '../../base/ip-address.ts'
import type { LoginLimit, LoginOrigin } from '../../services/sessions.ts'

interface Failures {
  count: number
  lastMs: number
}

/** Failures without a pause: people mistype. */
const FREE_OF_PAIR = 5
const FREE_OF_ADDRESS = 20
const FREE_OF_SITE = 100
/** A person has one log-in at a time; more are double clicks and scripts. */
const MAX_PARALLEL = 3
const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 30_000
/** Failures expire after this time without another one. */
const FORGET_MS = 15 * 60_000
const MAX_REMEMBERED = 10_000

/**
 * Slows down password guessing per account and origin, and per origin over all accounts; in the memory of one process.
 *
 * It never locks an account: failures elsewhere do not affect an origin with an earlier log-in, a known device counts
 * as its own origin, a pause lasts at most half a minute, and attempts during a pause do not extend it.
 */
export class LoginThrottle implements LoginLimit {
  readonly #clock: Clock
  readonly #ofPair = new Map<string, Failures>()
  readonly #ofAddress = new Map<string, Failures>()
  readonly #ofSite = new Map<string, Failures>()
  /** Attempts that wait for a hash or compute it. */
  readonly #running = new Map<string, number>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  pauseMs(account: string, origin: LoginOrigin): number {
    const pair = this.#pauseOf(this.#ofPair, pairOf(account, origin), FREE_OF_PAIR)
    if (origin.isKnown) return pair
    return Math.max(
      pair,
      this.#pauseOf(this.#ofAddress, origin.network, FREE_OF_ADDRESS),
      this.#pauseOf(this.#ofSite, origin.site, FREE_OF_SITE),
    )
  }

  failuresOf({ site }: LoginOrigin): number {
    const { count, lastMs } = this.#ofSite.get(site) ?? { count: 0, lastMs: 0 }
    return this.#clock.monotonicMs() - lastMs > FORGET_MS ? 0 : count
  }

  begin(account: string, origin: LoginOrigin): (() => void) | undefined {
    const pair = pairOf(account, origin)
    const running = this.#running.get(pair) ?? 0
    if (running >= MAX_PARALLEL) return undefined
    this.#running.set(pair, running + 1)
    return () => {
      const left = (this.#running.get(pair) ?? 1) - 1
      if (left === 0) this.#running.delete(pair)
      else this.#running.set(pair, left)
    }
  }

  failed(account: string, origin: LoginOrigin): void {
    this.#count(this.#ofPair, pairOf(account, origin))
    this.#count(this.#ofAddress, origin.network)
    this.#count(this.#ofSite, origin.site)
  }

  succeeded(account: string, origin: LoginOrigin): void {
    this.#ofPair.delete(pairOf(account, origin))
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
    const continues = before && nowMs - before.lastMs <= FORGET_MS
    failures.delete(name)
    failures.set(name, { count: continues ? before.count + 1 : 1, lastMs: nowMs })
    dropOldest(failures)
  }
}

/** The origin, a space, and the account. */
function pairOf(account: string, { device, network }: LoginOrigin): string {
  return `${device ?? network} ${account}`
}

/** @param address in the format of node:net: `192.0.2.1`, `::ffff:192.0.2.1`, `2001:db8::1`, `fe80::1%eth0`. */
export function networksOf(address: string): Pick<LoginOrigin, 'network' | 'site'> {
  const mapped = /^::ffff:([\d.]+)$/i.exec(address)?.[1]
  const groups = mapped === undefined ? ipv6Groups(address) : undefined
  if (!groups) return { network: mapped ?? address, site: mapped ?? address }
  const prefix = (count: number) =>
    groups
      .slice(0, count)
      .map(group => group.toString(16))
      .join(':')
  return { network: `${prefix(4)}::/64`, site: `${prefix(3)}::/48` }
}

function dropOldest(remembered: Map<string, unknown>): void {
  if (remembered.size <= MAX_REMEMBERED) return
  const [oldest] = remembered.keys()
  if (oldest !== undefined) remembered.delete(oldest)
}
