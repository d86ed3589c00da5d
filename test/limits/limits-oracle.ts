import type { OutputEstimator } from '../../src/limits/output-estimator.ts'
import type { Reservation } from '../../src/limits/reservation.ts'
import type { Rate } from '../../src/schema/limits.ts'

export type Limits = { rpm?: Rate; tpm?: Rate; concurrency?: number }

export interface World {
  readonly keys: readonly {
    limits: Limits
    quota: number | undefined
    budget: number | undefined
    owned: boolean
  }[]
  readonly tenant: { limits: Limits; balance: number | undefined }
}

export interface Ticket {
  readonly key: number
  readonly tokens: number
  readonly rated: number
  readonly nano: bigint
  readonly real: Reservation
  held: boolean
  permitted: boolean
}

/**
 * What a limiter must do, in plain maps and lists that are added up anew each time. GCRA stands here in its textbook
 * form: a theoretical arrival time, in exact fractions.
 */
export class Oracle {
  readonly #world: World
  /** The theoretical arrival time of each bucket, times its limit. */
  readonly #arrivals = new Map<string, bigint>()
  readonly tickets: Ticket[] = []
  readonly histories = new Map<number, OutputEstimator>()
  readonly bills: { key: number; tokens: number; nano: bigint; day: number }[] = []
  creditedNano = 0n

  constructor(world: World) {
    this.#world = world
  }

  heldOf(key: number): { tokens: number; nano: bigint } {
    const held = this.tickets.filter(ticket => ticket.key === key && ticket.held)
    return { tokens: sum(held.map(({ tokens }) => tokens)), nano: sumNano(held.map(({ nano }) => nano)) }
  }

  spentOf(key: number, day: number): { tokens: number; nano: bigint } {
    const bills = this.bills.filter(bill => bill.key === key)
    return {
      tokens: sum(bills.map(({ tokens }) => tokens)),
      nano: sumNano(bills.filter(bill => bill.day === day).map(({ nano }) => nano)),
    }
  }

  /** Of the tenant: what it has left, and what of that is held. */
  wallet(): { balance: bigint; held: bigint } {
    const owned = (key: number) => this.#world.keys[key]?.owned === true
    const spent = sumNano(this.bills.filter(({ key }) => owned(key)).map(({ nano }) => nano))
    const held = sumNano(this.tickets.filter(({ key, held }) => held && owned(key)).map(({ nano }) => nano))
    return { balance: BigInt(this.#world.tenant.balance ?? 0) + this.creditedNano - spent, held }
  }

  /** What an admission must come to; where it is admitted the rates are taken. */
  admit(
    key: number,
    need: { tokens: number; rated: number; nano: bigint },
    nowMs: number,
    day: number,
  ): string {
    const world = this.#world.keys[key]!
    const tenant = world.owned ? this.#world.tenant : undefined
    const permits = (of: (ticket: Ticket) => boolean) => this.tickets.filter(t => t.permitted && of(t)).length
    const full = (limit: number | undefined, taken: number) => limit !== undefined && taken >= limit
    if (
      full(
        world.limits.concurrency,
        permits(t => t.key === key),
      )
    )
      return 'rate_limit_concurrency'
    if (
      full(
        tenant?.limits.concurrency,
        permits(t => this.#world.keys[t.key]!.owned),
      )
    )
      return 'rate_limit_concurrency'
    const rates = [
      [`key ${key} rpm`, world.limits.rpm, 1],
      ['tenant rpm', tenant?.limits.rpm, 1],
      [`key ${key} tpm`, world.limits.tpm, need.rated],
      ['tenant tpm', tenant?.limits.tpm, need.rated],
    ] as const
    for (const [name, limit, units] of rates) {
      if (limit === undefined || this.conforms(name, limit, units, nowMs)) continue
      return name.endsWith('rpm') ? 'rate_limit_requests' : 'rate_limit_tokens'
    }
    const [held, spent] = [this.heldOf(key), this.spentOf(key, day)]
    if (world.quota !== undefined && spent.tokens + held.tokens + need.tokens > world.quota)
      return 'quota_exceeded'
    const tooDear = (limit: bigint, used: bigint) => need.nano > 0n && used + need.nano > limit
    if (world.budget !== undefined && tooDear(BigInt(world.budget), spent.nano + held.nano))
      return 'budget_exceeded'
    const wallet = this.wallet()
    if (tenant?.balance !== undefined && tooDear(wallet.balance, wallet.held)) return 'insufficient_balance'
    for (const [name, limit, units] of rates) if (limit !== undefined) this.move(name, limit, units, nowMs)
    return 'admitted'
  }

  conforms(name: string, { limit, burst }: Rate, units: number, nowMs: number): boolean {
    const tolerance = 60_000n * BigInt(burst)
    const needed = BigInt(Math.min(units, burst)) * 60_000n
    return this.#arrival(name, limit, nowMs) + needed - BigInt(nowMs * limit) <= tolerance
  }

  /** Takes units of a rate, or gives them back. */
  move(name: string, { limit }: Pick<Rate, 'limit'>, units: number, nowMs: number): void {
    const moved = this.#arrival(name, limit, nowMs) + BigInt(units) * 60_000n
    const floor = BigInt(nowMs * limit)
    this.#arrivals.set(name, moved > floor ? moved : floor)
  }

  correct(ticket: Ticket, usedTokens: number, nowMs: number): void {
    const world = this.#world.keys[ticket.key]!
    const delta = usedTokens - ticket.rated
    if (world.limits.tpm !== undefined) this.move(`key ${ticket.key} tpm`, world.limits.tpm, delta, nowMs)
    const tenantTpm = world.owned ? this.#world.tenant.limits.tpm : undefined
    if (tenantTpm !== undefined) this.move('tenant tpm', tenantTpm, delta, nowMs)
  }

  #arrival(name: string, limit: number, nowMs: number): bigint {
    const now = BigInt(nowMs * limit)
    const known = this.#arrivals.get(name) ?? 0n
    return known > now ? known : now
  }
}

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

function sumNano(values: bigint[]): bigint {
  return values.reduce((total, value) => total + value, 0n)
}
