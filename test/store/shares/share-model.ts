import fc from 'fast-check'
import type { Share } from '../../../src/limits/shares/share.ts'
import type { ShareHolder } from '../../../src/limits/shares/share-holder.ts'
import type { ScopeName, ScopeTerms, ShareMessage, ShareReply } from '../../../src/schema/shares.ts'
import type { Grantor, ShareTables } from '../../../src/store/shares/grantor.ts'
import type { wantedByDebit } from '../../../src/store/shares/rules.ts'

/** What is tested: the rules, and the tables behind them. */
export interface ShareSystem {
  readonly createHolder: (instance: string, leaseMs: number | undefined, tickMs: number) => ShareHolder
  readonly createGrantor: (
    leaseMs: number | undefined,
    spent: ShareTables['spent'],
  ) => { readonly grantor: Grantor; readonly tables: ShareTables }
  readonly wantedByDebit: typeof wantedByDebit
}

type Limit = 'budget' | 'balance' | 'rpm' | 'tpm' | 'concurrency'

export interface ShareWorld {
  /**
   * - `by_row`: an instance is fenced when its lease has ended, also if it lives; a hold is written by a statement that
   *   fails for a fenced instance.
   * - `by_death`: only an instance whose process has ended is fenced; a hold is written without the grantor.
   */
  readonly fencing: 'by_row' | 'by_death'
  /** No time passes, and no instance ends: then a rate has used exactly what was charged. */
  readonly isCalm: boolean
  readonly budget: number
  /** The first credit. */
  readonly balance: number
  readonly perMinute: number
  readonly burst: number
  readonly permits: number
}

export type ShareStep =
  /** @param waits If its shares are short, for an answer of the grantor. */
  | {
      readonly do: 'call'
      readonly at: number
      readonly units: Readonly<Record<Limit, number>>
      readonly waits: boolean
    }
  /** Calls of one request each, until the grantor has nothing more. */
  | { readonly do: 'hammer'; readonly at: number }
  | { readonly do: 'write' | 'swept'; readonly which: number }
  | { readonly do: 'end'; readonly which: number; readonly charged: number; readonly over: number }
  | {
      readonly do: 'send' | 'exchange' | 'crash' | 'restart' | 'leave' | 'fold' | 'adopt'
      readonly at: number
    }
  | { readonly do: 'arrive' | 'lose_message' | 'reply' | 'lose_reply'; readonly which: number }
  | { readonly do: 'fence' | 'recover'; readonly which: number }
  /** The process ends, or its lease does; it is fenced and recovered, and another one takes what it can get. */
  | { readonly do: 'replace'; readonly at: number; readonly how: 'death' | 'lapse' }
  | { readonly do: 'pass_time'; readonly ms: number }
  | { readonly do: 'set_clock'; readonly byMs: number }
  | { readonly do: 'reload'; readonly budget: number; readonly permits: number }
  | { readonly do: 'credit' | 'debit'; readonly amount: number }
  /** Whatever is left, after the instances were asked for what they do not use. */
  | { readonly do: 'close_wallet' }

const LEASE_MS = 2_000
const LONG_MS = 1e9
const OWNER = 'key k'
const LIMITS: readonly Limit[] = ['budget', 'balance', 'rpm', 'tpm', 'concurrency']
const LOUD: readonly ShareStep['do'][] = ['pass_time', 'set_clock', 'crash', 'leave', 'fence', 'replace']
const SLOTS = 3

export const shareWorlds: fc.Arbitrary<ShareWorld> = fc.record({
  fencing: fc.constantFrom('by_row', 'by_death'),
  isCalm: fc.boolean(),
  budget: fc.integer({ min: 0, max: 60 }),
  balance: fc.integer({ min: 0, max: 60 }),
  perMinute: fc.constantFrom(1, 60, 600, 6_000),
  burst: fc.integer({ min: 1, max: 12 }),
  permits: fc.integer({ min: 1, max: 4 }),
})

const NO_UNITS = { budget: 0, balance: 0, rpm: 0, tpm: 0, concurrency: 0 }
const someUnits: fc.Arbitrary<Call['units']> = fc.oneof(
  fc.integer({ min: 1, max: 12 }).map(budget => ({ ...NO_UNITS, budget })),
  fc.integer({ min: 1, max: 12 }).map(balance => ({ ...NO_UNITS, balance })),
  fc.integer({ min: 1, max: 2 }).map(rpm => ({ ...NO_UNITS, rpm })),
  fc.integer({ min: 1, max: 4 }).map(tpm => ({ ...NO_UNITS, tpm })),
  fc.constant({ ...NO_UNITS, concurrency: 1 }),
  fc.record({
    budget: fc.nat(8),
    balance: fc.nat(8),
    rpm: fc.nat(2),
    tpm: fc.nat(4),
    concurrency: fc.nat(1),
  }),
)
const at = fc.nat(SLOTS - 1)
const which = fc.nat(30)
const step = (weight: number, arbitrary: fc.Arbitrary<ShareStep>) => ({ weight, arbitrary })
export const shareSteps: fc.Arbitrary<ShareStep[]> = fc.array(
  fc.oneof(
    step(30, fc.record({ do: fc.constant('call' as const), at, units: someUnits, waits: fc.boolean() })),
    step(
      3,
      at.map(at => ({ do: 'hammer' as const, at })),
    ),
    step(8, fc.record({ do: fc.constant('write' as const), which })),
    step(
      12,
      fc.record({
        do: fc.constant('end' as const),
        which,
        charged: fc.nat(100),
        over: fc.oneof(fc.constant(0), fc.constant(0), fc.nat(3)),
      }),
    ),
    step(2, fc.record({ do: fc.constant('swept' as const), which })),
    step(
      8,
      at.map(at => ({ do: 'exchange' as const, at })),
    ),
    step(
      6,
      at.map(at => ({ do: 'send' as const, at })),
    ),
    step(6, fc.record({ do: fc.constant('arrive' as const), which })),
    step(6, fc.record({ do: fc.constant('reply' as const), which })),
    step(2, fc.record({ do: fc.constantFrom('lose_message' as const, 'lose_reply' as const), which })),
    step(2, fc.record({ do: fc.constantFrom('crash' as const, 'leave' as const), at })),
    step(4, fc.record({ do: fc.constantFrom('restart' as const, 'fold' as const, 'adopt' as const), at })),
    step(4, fc.record({ do: fc.constantFrom('fence' as const, 'recover' as const), which })),
    step(
      3,
      fc.record({
        do: fc.constant('replace' as const),
        at,
        how: fc.constantFrom('death' as const, 'lapse' as const),
      }),
    ),
    step(
      5,
      fc.record({
        do: fc.constant('pass_time' as const),
        ms: fc.oneof(fc.nat(200), fc.nat(2_500), fc.nat(70_000)),
      }),
    ),
    step(
      2,
      fc.record({
        do: fc.constant('set_clock' as const),
        byMs: fc.constantFrom(-3_600_000, -500, 500, 3_600_000),
      }),
    ),
    step(
      2,
      fc.record({
        do: fc.constant('reload' as const),
        budget: fc.integer({ min: 0, max: 60 }),
        permits: fc.integer({ min: 1, max: 4 }),
      }),
    ),
    step(
      5,
      fc.record({
        do: fc.constantFrom('credit' as const, 'debit' as const),
        amount: fc.integer({ min: 1, max: 20 }),
      }),
    ),
    step(1, fc.constant({ do: 'close_wallet' as const })),
  ),
  { minLength: 10, maxLength: 100, size: 'max' },
)

/** What a call has really used. */
type Charged = Readonly<Record<'budget' | 'balance' | 'tpm', number>>

interface Call {
  readonly instance: Instance
  readonly units: Readonly<Record<Limit, number>>
  /** Of its admission, in the time that the store's clock has counted. */
  readonly countedMs: number
  state: 'admitted' | 'written' | 'ended'
  charged: Charged
  /** The ledger's sums have its end. */
  isFolded: boolean
}

interface Instance {
  readonly id: string
  readonly holder: ShareHolder
  /** Its monotonic clock, minus the true time. */
  readonly tickOffsetMs: number
  revision: number
  process: 'runs' | 'dead' | 'left'
  isRecovered: boolean
}

interface Sent {
  readonly from: Instance
  readonly message: ShareMessage
  /** Ends that came before it: the ledger has them when it arrives. */
  readonly ends: readonly Call[]
}

/** The newest revision of a limit that the grantor has heard of. */
interface Reported {
  readonly bound: bigint
  readonly revision: number
  /** The most that may be used: the bound; after it was lowered, what was leased before. */
  readonly ceiling: bigint
}

/** Runs a history, and checks after each step what must hold at any time. */
export function runHistory(world: ShareWorld, steps: readonly ShareStep[], system: ShareSystem): void {
  const model = new ShareModel(world, system)
  for (const step of steps) {
    if (world.isCalm && LOUD.includes(step.do)) continue
    model.perform(step)
    model.check()
  }
  model.finish()
}

class ShareModel {
  readonly #world: ShareWorld
  readonly #system: ShareSystem
  readonly #leaseMs: number | undefined
  readonly #grantor: Grantor
  readonly #tables: ShareTables
  readonly #instances: Instance[] = []
  readonly #slots: Instance[] = []
  readonly #calls: Call[] = []
  #messages: Sent[] = []
  #replies: { readonly to: Instance; readonly number: number; readonly reply: ShareReply }[] = []
  #trueMs = 1_000_000
  #clockMs = 5_000_000_000
  /** The sum of the steps that the store's clock has gone forward. */
  #countedMs = 0
  #revision = 1
  readonly #bounds = new Map<number, { budget: number; permits: number }>()
  readonly #reported = new Map<Limit, Reported>()
  /** What charges exceeded their holds by. */
  readonly #over = { budget: 0, balance: 0 }
  /** Credits minus debits. */
  #credited: number

  constructor(world: ShareWorld, system: ShareSystem) {
    this.#world = world
    this.#system = system
    this.#leaseMs = world.fencing === 'by_row' ? LEASE_MS : undefined
    this.#bounds.set(1, world)
    this.#credited = world.balance
    const { grantor, tables } = system.createGrantor(this.#leaseMs, ({ limit }) =>
      limit === 'balance' ? -this.#balance() : BigInt(this.#folded('budget')),
    )
    this.#grantor = grantor
    this.#tables = tables
    for (let slot = 0; slot < SLOTS; slot++) this.#start(slot)
  }

  perform(step: ShareStep): void {
    switch (step.do) {
      case 'call':
        return this.#callOnce(this.#slots[step.at], step)
      case 'hammer':
        return this.#take(this.#slots[step.at], 'rpm', this.#world.burst + 1)
      case 'write':
        return this.#write(pick(this.#inState('admitted'), step.which))
      case 'end': {
        const call = pick(
          this.#inState('written').filter(({ instance }) => instance.process === 'runs'),
          step.which,
        )
        const of = (units: number) => Math.floor((units * step.charged) / 100) + step.over
        const { budget, balance, tpm } = call?.units ?? NO_UNITS
        return call && this.#end(call, { budget: of(budget), balance: of(balance), tpm: of(tpm) })
      }
      case 'swept': {
        // Another instance ends the holds of one that is fenced.
        const call = pick(
          this.#inState('written').filter(({ instance }) => this.#isFenced(instance)),
          step.which,
        )
        return call && this.#end(call, call.units)
      }
      case 'send':
        return this.#send(this.#slots[step.at])
      case 'exchange':
        return this.#exchange(this.#slots[step.at])
      case 'arrive':
        return this.#arrive(step.which % Math.max(1, this.#messages.length))
      case 'lose_message':
        this.#messages.splice(step.which % Math.max(1, this.#messages.length), 1)
        return
      case 'reply':
        return this.#reply(step.which % Math.max(1, this.#replies.length))
      case 'lose_reply':
        this.#replies.splice(step.which % Math.max(1, this.#replies.length), 1)
        return
      case 'crash':
        return this.#crash(this.#slots[step.at])
      case 'restart':
        return this.#restart(step.at)
      case 'leave':
        return this.#leave(this.#slots[step.at])
      case 'fold':
        return fold(this.#endsOf(this.#slots[step.at]))
      case 'adopt':
        return this.#adopt(this.#slots[step.at])
      case 'fence':
        return this.#fence(pick(this.#instances, step.which))
      case 'recover':
        return this.#recover(pick(this.#instances, step.which))
      case 'replace':
        this.#replace(this.#slots[step.at], step.how)
        return this.#take(this.#slots[(step.at + 1) % SLOTS], 'concurrency', 4)
      case 'pass_time':
        return this.#passTime(step.ms)
      case 'set_clock':
        return this.#moveClock(step.byMs)
      case 'reload':
        this.#revision++
        this.#bounds.set(this.#revision, step)
        return
      case 'credit':
        this.#credited += step.amount
        return
      case 'debit':
        this.#debit(BigInt(step.amount))
        return
      case 'close_wallet':
        return this.#closeWallet()
    }
  }

  /** What must hold at any time. */
  check(): void {
    for (const limit of LIMITS) {
      const scope = this.#tables.scope(nameOf(limit))
      const shares = this.#instances.map(({ id }) => this.#tables.share(id, nameOf(limit)) ?? 0n)
      must(
        shares.every(amount => amount >= 0n),
        `a share of ${limit} is below zero`,
      )
      const sum = shares.reduce((total, amount) => total + amount, 0n)
      must(sum === (scope?.leased ?? 0n), `shares of ${limit}: ${sum}, leased: ${scope?.leased}`)
      must(
        !scope || scope.bound === this.#reported.get(limit)?.bound,
        `the bound of ${limit}: ${scope?.bound}`,
      )
    }
    const open = this.#inState('written')
    for (const sum of ['budget', 'balance'] as const) {
      const spent = sumOf(this.#calls.map(({ charged }) => charged[sum]))
      const held = sumOf(open.map(({ units }) => units[sum]))
      const most = sum === 'balance' ? BigInt(this.#credited) : this.#ceiling(sum)
      must(
        BigInt(spent + held) <= most + BigInt(this.#over[sum]),
        `${sum}: spent ${spent} + held ${held} of ${most}`,
      )
    }
    const permits = sumOf(open.map(({ units }) => units.concurrency))
    must(BigInt(permits) <= this.#ceiling('concurrency'), `${permits} permits`)
    this.#checkMirrors()
  }

  /** Everything arrives, ends and is recovered: then nothing is lost, and the windows of the rate can be counted. */
  finish(): void {
    for (const call of this.#inState('admitted')) this.#write(call)
    this.check()
    this.#checkWindows()
    for (const instance of this.#instances) this.#adopt(instance)
    this.#deliverAll()
    for (const call of this.#inState('written')) this.#end(call, call.units)
    this.check()
    for (let round = 0; round < 2; round++) {
      for (const instance of this.#instances) this.#send(instance)
      this.#deliverAll()
      this.check()
    }
    if (this.#world.isCalm) this.#checkLevels()
    this.#checkRecall()
    this.#checkDebit()
    for (const instance of this.#instances) if (instance.process === 'runs') this.#crash(instance)
    for (const instance of this.#instances) this.#fence(instance)
    for (const instance of this.#instances) this.#recover(instance)
    this.check()
    // More than the clock was ever set back, and more than any debt.
    this.#passTime(LONG_MS)
    const last = this.#start(0)
    last.revision = this.#revision
    this.#checkAlone(last)
  }

  #checkLevels(): void {
    const level = (limit: Limit) => this.#tables.scope(nameOf(limit))?.level ?? 0n
    const requests = sumOf(this.#calls.map(({ units }) => units.rpm))
    const tokens = sumOf(this.#calls.map(({ charged }) => charged.tpm))
    must(level('rpm') === BigInt(requests) * 60_000n, `${requests} requests, level ${level('rpm')}`)
    must(level('tpm') === BigInt(tokens) * 60_000n, `${tokens} tokens, level ${level('tpm')}`)
  }

  /** An instance gets what all others do not use. */
  #checkRecall(): void {
    const live = this.#instances.filter(instance => this.#canAdmit(instance))
    const [needy] = live
    const { bound } = this.#terms('concurrency', this.#revision)
    const orphaned = this.#instances
      .filter(instance => !live.includes(instance))
      .reduce((sum, { id }) => sum + (this.#tables.share(id, nameOf('concurrency')) ?? 0n), 0n)
    const rest = bound - orphaned
    if (!needy || rest <= 0n) return
    for (let round = 0; round < 4; round++) {
      for (const instance of live) {
        if (instance === needy) this.#share(needy, 'concurrency').need(rest)
        this.#send(instance)
        this.#deliverAll()
      }
    }
    const { available } = this.#share(needy, 'concurrency')
    must(available === rest, `${available} of the ${rest} that others do not use`)
  }

  /** A debit gets what no instance uses. */
  #checkDebit(): void {
    const live = this.#instances.filter(instance => this.#canAdmit(instance))
    const balance = this.#balance()
    const orphaned = this.#instances
      .filter(instance => !live.includes(instance))
      .reduce((sum, { id }) => sum + (this.#tables.share(id, nameOf('balance')) ?? 0n), 0n)
    const rest = balance - orphaned
    if (rest <= 0n) return
    this.#closeWallet()
    must(this.#balance() === orphaned, `${this.#balance()} of ${balance} could not be debited`)
    this.#credited += Number(rest)
  }

  /** A single instance gets everything that was not spent; of a balance what it needs, because debits take of it as well. */
  #checkAlone(instance: Instance): void {
    const balance = this.#balance()
    for (const limit of LIMITS) {
      const share = this.#share(instance, limit)
      if (limit === 'balance') {
        share.need(balance)
        continue
      }
      share.need(1n)
      share.need(1_000n)
    }
    this.#send(instance)
    this.#deliverAll()
    const spent = BigInt(sumOf(this.#calls.map(({ charged }) => charged.budget)))
    for (const limit of LIMITS) {
      const { bound } = this.#terms(limit, this.#revision)
      const left = limit === 'balance' ? balance : limit === 'budget' ? bound - spent : bound
      const { available } = this.#share(instance, limit)
      must(available === (left > 0n ? left : 0n), `${available} of the ${left} left of ${limit}`)
    }
  }

  /** Any window admits at most burst + rate × t, counted by the times of the admissions. */
  #checkWindows(): void {
    const admitted = this.#calls
      .filter(({ units, state }) => units.rpm > 0 && state !== 'admitted')
      .sort((a, b) => a.countedMs - b.countedMs)
    const { burst, perMinute } = this.#world
    for (const [first, { countedMs }] of admitted.entries()) {
      let units = 0
      for (const call of admitted.slice(first)) {
        units += call.units.rpm
        const most = burst * 60_000 + perMinute * (call.countedMs - countedMs)
        must(units * 60_000 <= most, `${units} units in ${call.countedMs - countedMs} ms`)
      }
    }
  }

  /** Without messages on their way, an instance knows its share. */
  #checkMirrors(): void {
    for (const instance of this.#instances) {
      if (!this.#canAdmit(instance) || instance.holder.isWaiting) continue
      if (this.#isFenced(instance)) continue
      for (const limit of LIMITS) {
        const share = this.#share(instance, limit)
        const known = this.#tables.share(instance.id, nameOf(limit)) ?? 0n
        // A charge beyond the share is no part of it.
        must(share.available + share.held <= known, `${instance.id} knows more than its share of ${limit}`)
      }
    }
  }

  #start(slot: number): Instance {
    const id = `instance ${this.#instances.length + 1}`
    const tickOffsetMs = this.#instances.length * 777_777
    const instance: Instance = {
      id,
      holder: this.#system.createHolder(id, this.#leaseMs, this.#trueMs + tickOffsetMs),
      tickOffsetMs,
      revision: this.#revision,
      process: 'runs',
      isRecovered: false,
    }
    this.#grantor.join(id, this.#clockMs)
    this.#instances.push(instance)
    this.#slots[slot] = instance
    return instance
  }

  #callOnce(
    instance: Instance | undefined,
    { units, waits }: Pick<Extract<ShareStep, { do: 'call' }>, 'units' | 'waits'>,
  ): void {
    if (!instance || this.#call(instance, units) || !waits) return
    this.#exchange(instance)
    this.#call(instance, units)
  }

  #take(instance: Instance | undefined, limit: Limit, times: number): void {
    for (let count = 0; count < times; count++)
      this.#callOnce(instance, { units: { ...NO_UNITS, [limit]: 1 }, waits: true })
    for (const call of this.#inState('admitted')) if (call.instance === instance) this.#write(call)
  }

  /** A message that arrives at once, and so does its reply. */
  #exchange(instance: Instance | undefined): void {
    if (!instance || !this.#canAdmit(instance) || instance.holder.isWaiting) return
    this.#send(instance)
    this.#arrive(this.#messages.length - 1)
    this.#reply(this.#replies.length - 1)
  }

  /** @returns whether it was admitted. */
  #call(instance: Instance, units: Call['units']): boolean {
    if (!this.#canAdmit(instance) || !instance.holder.isValid(this.#tick(instance))) return false
    const shares = LIMITS.filter(limit => units[limit] > 0).map(
      limit => [this.#share(instance, limit), BigInt(units[limit])] as const,
    )
    // A request above the burst leaves a debt, see the rates' own tests.
    if (units.rpm > this.#world.burst) return false
    const short = shares.filter(([share, needed]) => !share.fits(needed))
    for (const [share, needed] of short) share.need(needed)
    if (short.length > 0) return false
    for (const [share, needed] of shares) share.take(needed)
    const state = this.#world.fencing === 'by_death' ? 'written' : 'admitted'
    const countedMs = this.#countedMs
    this.#calls.push({ instance, units, countedMs, state, charged: NO_UNITS, isFolded: false })
    return true
  }

  /** The statement that writes a hold has no effect for an instance that is fenced, or has no lease. */
  #write(call: Call | undefined): void {
    if (!call) return
    const { instance } = call
    if (instance.process === 'runs' && this.#grantor.mayHold(instance.id)) {
      call.state = 'written'
      return
    }
    this.#calls.splice(this.#calls.indexOf(call), 1)
    for (const limit of LIMITS)
      if (call.units[limit] > 0) this.#share(instance, limit).end(BigInt(call.units[limit]), 0n)
  }

  #end(call: Call, charged: Charged): void {
    const { instance, units } = call
    call.state = 'ended'
    call.charged = charged
    for (const sum of ['budget', 'balance'] as const)
      this.#over[sum] += Math.max(0, charged[sum] - units[sum])
    // The end of a fenced instance's hold, by any instance, is in the ledger at once.
    if (this.#isFenced(instance)) call.isFolded = true
    if (instance.process !== 'runs') return
    for (const limit of ['budget', 'balance', 'tpm'] as const)
      if (units[limit] > 0 || charged[limit] > 0)
        this.#share(instance, limit).end(BigInt(units[limit]), BigInt(charged[limit]))
    if (units.rpm > 0) this.#share(instance, 'rpm').end(BigInt(units.rpm), BigInt(units.rpm))
    if (units.concurrency > 0) this.#share(instance, 'concurrency').end(BigInt(units.concurrency), 0n)
  }

  #send(instance: Instance | undefined): void {
    if (!instance || !this.#canAdmit(instance)) return
    const { holder } = instance
    const sent = this.#messages.find(({ from }) => from === instance)
    if (!holder.isWaiting) {
      const message = holder.message(this.#tick(instance))
      this.#messages.push({ from: instance, message, ends: this.#endsOf(instance) })
    } else if (this.#messages.length < 6) {
      const ends = sent?.ends ?? this.#endsOf(instance)
      this.#messages.push({ from: instance, message: holder.repeat(), ends })
    }
  }

  #arrive(index: number): void {
    const [sent] = this.#messages.splice(index, 1)
    if (!sent) return
    const { from, message, ends } = sent
    fold(ends)
    const before = new Map(LIMITS.map(limit => [limit, this.#tables.scope(nameOf(limit))]))
    const live = this.#instances.filter(({ id }) => this.#tables.instance(id)?.isFenced === false).length
    const reply = this.#apply(message)
    this.#replies.push({ to: from, number: message.number, reply })
    if (reply.is === 'fenced') return
    for (const [index, { granted, free }] of reply.answers.entries()) {
      const request = message.requests[index]
      if (!request || granted === 0n) continue
      const all = granted + free
      // Debits take from a balance as well.
      const parties = request.scope.limit === 'balance' ? live + 1 : live
      const part = all / BigInt(2 * parties)
      const most = parties === 1 ? all : request.least > part ? request.least : part
      must(granted <= most && (parties > 1 || granted === all), `${granted} of ${all} for one of ${parties}`)
      must(granted >= request.least, `${granted} is no help where ${request.least} is needed`)
      const { wanted = 0n } = before.get(request.scope.limit as Limit) ?? {}
      must(request.least > 0n || wanted === 0n, 'a share for later while another instance waits')
    }
  }

  #apply(message: ShareMessage): ShareReply {
    const known = this.#tables.instance(message.instance)
    if (known && !known.isFenced && message.number > known.number) this.#noteTerms(message)
    return this.#grantor.apply(message, this.#clockMs)
  }

  #reply(index: number): void {
    const [reply] = this.#replies.splice(index, 1)
    if (!reply || !this.#canAdmit(reply.to)) return
    reply.to.holder.reply(reply.number, reply.reply, this.#tick(reply.to))
  }

  #deliverAll(): void {
    while (this.#messages.length > 0) this.#arrive(0)
    while (this.#replies.length > 0) this.#reply(0)
    // Lost ones are repeated.
    for (const instance of this.#instances) {
      if (!this.#canAdmit(instance) || !instance.holder.isWaiting) continue
      this.#send(instance)
      this.#arrive(0)
      this.#reply(0)
    }
  }

  #crash(instance: Instance | undefined): void {
    if (!instance || instance.process !== 'runs') return
    for (const call of this.#inState('admitted')) {
      if (call.instance === instance) this.#calls.splice(this.#calls.indexOf(call), 1)
    }
    instance.process = 'dead'
  }

  #restart(slot: number): void {
    const instance = this.#slots[slot]
    if (instance && this.#canAdmit(instance)) return
    if (this.#instances.length < 8) this.#start(slot)
  }

  #leave(instance: Instance | undefined): void {
    if (!instance || !this.#canAdmit(instance) || instance.holder.isWaiting) return
    if (this.#calls.some(call => call.instance === instance && call.state !== 'ended')) return
    const message = instance.holder.message(this.#tick(instance), true)
    fold(this.#endsOf(instance))
    this.#apply(message)
    this.#grantor.leave(instance.id, this.#clockMs)
    instance.process = 'left'
    instance.isRecovered = true
  }

  #adopt(instance: Instance | undefined): void {
    if (!instance) return
    instance.revision = this.#revision
    for (const limit of LIMITS) this.#share(instance, limit).setTerms(this.#terms(limit, instance.revision))
  }

  #fence(instance: Instance | undefined): void {
    if (!instance || instance.process === 'left') return
    this.#grantor.fence(instance.id, this.#clockMs, instance.process === 'dead')
  }

  #recover(instance: Instance | undefined): void {
    if (!instance || instance.isRecovered || !this.#isFenced(instance)) return
    fold(this.#endsOf(instance))
    const open = this.#inState('written').filter(call => call.instance === instance)
    const heldOf = ({ limit }: ScopeName) => BigInt(sumOf(open.map(({ units }) => units[limit as Limit])))
    instance.isRecovered = this.#grantor.recover(instance.id, heldOf, this.#clockMs)
  }

  #replace(instance: Instance | undefined, how: 'death' | 'lapse'): void {
    if (how === 'death') this.#crash(instance)
    else this.#passTime(LEASE_MS)
    this.#fence(instance)
    this.#recover(instance)
  }

  /** @returns whether it was booked; if not, instances are asked for what they do not use. */
  #debit(amount: bigint): boolean {
    const name = nameOf('balance')
    const left = this.#balance() - amount
    const scope = this.#tables.scope(name)
    if (left < 0n) return false
    if (scope) {
      const wanted = this.#system.wantedByDebit(scope, left)
      this.#tables.saveScope(name, { ...scope, wanted })
      if (wanted > 0n) return false
    }
    this.#credited -= Number(amount)
    return true
  }

  #closeWallet(): void {
    for (let round = 0; round < 4; round++) {
      const leased = this.#tables.scope(nameOf('balance'))?.leased ?? 0n
      const free = this.#balance() - leased
      if (free > 0n) this.#debit(free)
      if (this.#debit(this.#balance())) return
      for (const instance of this.#slots) this.#exchange(instance)
    }
  }

  #passTime(ms: number): void {
    this.#trueMs += ms
    this.#moveClock(ms)
  }

  #moveClock(byMs: number): void {
    this.#clockMs += byMs
    if (byMs > 0) this.#countedMs += byMs
  }

  /** A bound counts as soon as one instance has reported it. */
  #noteTerms({ requests }: ShareMessage): void {
    for (const { scope: name, terms } of requests) {
      const limit = name.limit as Limit
      const { bound, revision } = terms
      const known = this.#reported.get(limit)
      if (known && known.revision >= revision) continue
      const leased = this.#tables.scope(name)?.leased ?? 0n
      const used = limit === 'budget' ? leased + BigInt(this.#folded('budget')) : leased
      this.#reported.set(limit, { bound, revision, ceiling: known && used > bound ? used : bound })
    }
  }

  #ceiling(limit: Limit): bigint {
    return this.#reported.get(limit)?.ceiling ?? 0n
  }

  #share(instance: Instance, limit: Limit): Share {
    return instance.holder.share(nameOf(limit), this.#terms(limit, instance.revision))
  }

  #terms(limit: Limit, revision: number): ScopeTerms {
    const { budget, permits } = this.#bounds.get(revision) ?? this.#world
    const { burst, perMinute } = this.#world
    if (limit === 'balance') return { kind: 'sum', bound: 0n, perMinute: 0n, revision, sinceMs: 0 }
    if (limit === 'budget') return { kind: 'sum', bound: BigInt(budget), perMinute: 0n, revision, sinceMs: 0 }
    if (limit === 'concurrency')
      return { kind: 'permits', bound: BigInt(permits), perMinute: 0n, revision, sinceMs: 0 }
    return { kind: 'rate', bound: BigInt(burst), perMinute: BigInt(perMinute), revision, sinceMs: 0 }
  }

  #canAdmit({ process, holder }: Instance): boolean {
    return process === 'runs' && !holder.isFenced
  }

  #isFenced({ id, process, isRecovered }: Instance): boolean {
    return process !== 'left' && (isRecovered || this.#tables.instance(id)?.isFenced === true)
  }

  #inState(state: Call['state']): Call[] {
    return this.#calls.filter(call => call.state === state)
  }

  #endsOf(instance: Instance | undefined): Call[] {
    return this.#calls.filter(call => call.instance === instance && call.state === 'ended')
  }

  #folded(sum: 'budget' | 'balance'): number {
    return sumOf(this.#calls.filter(({ isFolded }) => isFolded).map(({ charged }) => charged[sum]))
  }

  /** As the ledger has it. */
  #balance(): bigint {
    return BigInt(this.#credited - this.#folded('balance'))
  }

  #tick({ tickOffsetMs }: Instance): number {
    return this.#trueMs + tickOffsetMs
  }
}

function nameOf(limit: Limit): ScopeName {
  return { owner: OWNER, limit }
}

function fold(calls: readonly Call[]): void {
  for (const call of calls) call.isFolded = true
}

function pick<T>(values: readonly T[], which: number): T | undefined {
  return values[which % Math.max(1, values.length)]
}

function sumOf(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

function must(holds: boolean, what: string): void {
  if (!holds) throw new Error(what)
}
