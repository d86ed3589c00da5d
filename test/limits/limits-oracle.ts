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
    /** Names of its limits in shadow mode. */
    shadow: readonly string[]
  }[]
  readonly tenant: { limits: Limits; balance: number | undefined; shadow: readonly string[] }
}

export interface Ticket {
  readonly key: number
  readonly tokens: number
  readonly rated: number
  readonly nano: bigint
  /** The shadow limits that it exceeded, such as `key_rpm`. */
  readonly exceeded: readonly string[]
  /** Monotonic clock. */
  readonly admittedMs: number
  readonly real: Reservation
  held: boolean
  permitted: boolean
}

/**
 * What a limiter must do, in plain maps and lists that are added up anew each time. GCRA stands here in its textbook
 * form: a theoretical arrival time, in exact fractions, of all that was taken of a bucket.
 */
export class Oracle {
  readonly #world: World
  /** Of each bucket, by time. */
  readonly #taken = new Map<string, readonly { readonly atMs: number; readonly units: number }[]>()
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

  /**
   * What an admission must come to, and the shadow limits that it exceeds; where it is admitted the rates are taken, but
   * for the exceeded ones.
   */
  admit(
    key: number,
    need: { tokens: number; rated: number; nano: bigint },
    nowMs: number,
    day: number,
  ): { outcome: string; exceeded: readonly string[] } {
    const world = this.#world.keys[key]!
    const tenant = world.owned ? this.#world.tenant : undefined
    const permits = (check: string, of: (ticket: Ticket) => boolean) =>
      this.tickets.filter(t => t.permitted && of(t) && !t.exceeded.includes(check)).length
    const full = (limit: number | undefined, taken: number) => limit !== undefined && taken >= limit
    const rates = [
      ['key_rpm', `key ${key} rpm`, world.limits.rpm, 1],
      ['tenant_rpm', 'tenant rpm', tenant?.limits.rpm, 1],
      ['key_tpm', `key ${key} tpm`, world.limits.tpm, need.rated],
      ['tenant_tpm', 'tenant tpm', tenant?.limits.tpm, need.rated],
    ] as const
    const [held, spent] = [this.heldOf(key), this.spentOf(key, day)]
    const tooDear = (limit: bigint, used: bigint) => need.nano > 0n && used + need.nano > limit
    const wallet = this.wallet()
    const tests: (readonly [check: string, code: string, rejects: boolean])[] = [
      [
        'key_concurrency',
        'rate_limit_concurrency',
        full(
          world.limits.concurrency,
          permits('key_concurrency', t => t.key === key),
        ),
      ],
      [
        'tenant_concurrency',
        'rate_limit_concurrency',
        full(
          tenant?.limits.concurrency,
          permits('tenant_concurrency', t => this.#world.keys[t.key]!.owned),
        ),
      ],
      ...rates.map(([check, name, limit, units]) => {
        const rejects = limit !== undefined && !this.conforms(name, limit, units, nowMs)
        return [check, check.endsWith('rpm') ? 'rate_limit_requests' : 'rate_limit_tokens', rejects] as const
      }),
      [
        'key_quota',
        'quota_exceeded',
        world.quota !== undefined && spent.tokens + held.tokens + need.tokens > world.quota,
      ],
      [
        'key_budget',
        'budget_exceeded',
        world.budget !== undefined && tooDear(BigInt(world.budget), spent.nano + held.nano),
      ],
      [
        'tenant_balance',
        'insufficient_balance',
        tenant?.balance !== undefined && tooDear(wallet.balance, wallet.held),
      ],
    ]
    const exceeded: string[] = []
    for (const [check, code, rejects] of tests) {
      if (!rejects) continue
      if (!this.#isShadow(key, check)) return { outcome: code, exceeded: [] }
      exceeded.push(check)
    }
    for (const [check, name, limit, units] of rates)
      if (limit !== undefined && !exceeded.includes(check)) this.take(name, units, nowMs)
    return { outcome: 'admitted', exceeded }
  }

  /** Calls of count_tokens, which have buckets of their own. */
  count(key: number, nowMs: number): { outcome: string; exceeded: readonly string[] } {
    const world = this.#world.keys[key]!
    const rates = [
      ['key_rpm', `key ${key} counts`, world.limits.rpm],
      ['tenant_rpm', 'tenant counts', world.owned ? this.#world.tenant.limits.rpm : undefined],
    ] as const
    const over = rates.filter(
      ([, name, limit]) => limit !== undefined && !this.conforms(name, limit, 1, nowMs),
    )
    if (over.some(([check]) => !this.#isShadow(key, check)))
      return { outcome: 'rate_limit_requests', exceeded: [] }
    const exceeded = over.map(([check]) => check)
    for (const [check, name, limit] of rates)
      if (limit !== undefined && !exceeded.includes(check)) this.take(name, 1, nowMs)
    return { outcome: 'admitted', exceeded }
  }

  #isShadow(key: number, check: string): boolean {
    const [owner, name] = check.split('_') as [string, string]
    return (owner === 'key' ? this.#world.keys[key]! : this.#world.tenant).shadow.includes(name)
  }

  conforms(name: string, { limit, burst }: Rate, units: number, nowMs: number): boolean {
    const tolerance = 60_000n * BigInt(burst)
    const needed = BigInt(Math.min(units, burst)) * 60_000n
    return this.#arrival(name, limit, nowMs) + needed - BigInt(nowMs * limit) <= tolerance
  }

  take(name: string, units: number, nowMs: number): void {
    const taken = this.#taken.get(name) ?? []
    this.#taken.set(name, [...taken, { atMs: nowMs, units }])
  }

  /** More is taken now; less is as if less had been taken from the beginning. */
  #correctRate(name: string, units: number, takenMs: number, nowMs: number): void {
    if (units >= 0) return this.take(name, units, nowMs)
    const taken = this.#taken.get(name) ?? []
    const at = taken.findLastIndex(({ atMs }) => atMs === takenMs)
    this.#taken.set(name, taken.toSpliced(at + 1, 0, { atMs: takenMs, units }))
  }

  correct(ticket: Ticket, usedTokens: number, nowMs: number): void {
    const world = this.#world.keys[ticket.key]!
    const delta = usedTokens - ticket.rated
    if (world.limits.tpm !== undefined && !ticket.exceeded.includes('key_tpm'))
      this.#correctRate(`key ${ticket.key} tpm`, delta, ticket.admittedMs, nowMs)
    const tenantTpm = world.owned ? this.#world.tenant.limits.tpm : undefined
    if (tenantTpm !== undefined && !ticket.exceeded.includes('tenant_tpm'))
      this.#correctRate('tenant tpm', delta, ticket.admittedMs, nowMs)
  }

  /** The theoretical arrival time, times the limit. */
  #arrival(name: string, limit: number, nowMs: number): bigint {
    const arrivals = [...(this.#taken.get(name) ?? []), { atMs: nowMs, units: 0 }]
    return arrivals.reduce((arrival, { atMs, units }) => {
      const earliest = BigInt(atMs * limit)
      return (arrival > earliest ? arrival : earliest) + BigInt(units) * 60_000n
    }, 0n)
  }
}

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

function sumNano(values: bigint[]): bigint {
  return values.reduce((total, value) => total + value, 0n)
}
