import fc from 'fast-check'
import { expect, test } from 'vitest'
import { GwError } from '../../src/base/catalogue/wire.ts'
import { OutputEstimator } from '../../src/limits/output-estimator.ts'
import type { Reservation } from '../../src/limits/reservation.ts'
import type { KeyEntry } from '../../src/snapshot/types.ts'
import { type Limits, Oracle, type Ticket, type World } from './limits-oracle.ts'
import { holding, keyEntry, Scene, tenantEntry, used } from './limits-scene.ts'

/** Asia/Kolkata has no daylight saving, so that the oracle can count its days by a fixed offset. */
const KOLKATA_MS = 19_800_000
const DAY_MS = 86_400_000

type CommandHandler =
  | {
      readonly do: 'admit'
      readonly key: number
      readonly input: number
      readonly output: number
      readonly nano: number
    }
  | { readonly do: 'settle' | 'release' | 'leave'; readonly which: number; readonly share: number }
  | { readonly do: 'count'; readonly key: number }
  | { readonly do: 'credit'; readonly nano: number }
  | { readonly do: 'reload' }
  | { readonly do: 'wait'; readonly ms: number }

const some = (max: number) => fc.option(fc.integer({ min: 1, max }), { nil: undefined })
/** With a burst that is the limit, as by default, or less, or more. */
const someRate = (max: number) =>
  fc.option(
    fc
      .record({ limit: fc.integer({ min: 1, max }), burst: some(max) })
      .map(({ limit, burst }) => ({ limit, burst: burst ?? limit })),
    { nil: undefined },
  )
const limits = fc
  .record({ rpm: someRate(8), tpm: someRate(600), concurrency: some(4) })
  .map(
    found => Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined)) as Limits,
  )
/** Half of the owners enforce all of their limits. */
const shadowOf = (...names: string[]) => fc.oneof(fc.constant([]), fc.subarray(names))
const worlds: fc.Arbitrary<World> = fc.record({
  keys: fc.array(
    fc.record({
      limits,
      quota: some(2_000),
      budget: some(300),
      owned: fc.boolean(),
      shadow: shadowOf('concurrency', 'rpm', 'tpm', 'quota', 'budget'),
    }),
    { minLength: 2, maxLength: 3 },
  ),
  tenant: fc.record({ limits, balance: some(500), shadow: shadowOf('concurrency', 'rpm', 'tpm') }),
})
const acts: fc.Arbitrary<CommandHandler[]> = fc.array(
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        do: fc.constant('admit' as const),
        key: fc.nat(2),
        input: fc.nat(100),
        output: fc.oneof(fc.nat(100), fc.nat(3_000)),
        nano: fc.nat(60),
      }),
    },
    {
      weight: 5,
      arbitrary: fc.record({
        do: fc.constantFrom('settle', 'settle', 'release', 'leave', 'leave'),
        which: fc.nat(20),
        share: fc.integer({ min: 0, max: 100 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('count' as const), key: fc.nat(2) }) },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant('credit' as const), nano: fc.integer({ min: -50, max: 100 }) }),
    },
    { weight: 1, arbitrary: fc.constant({ do: 'reload' as const }) },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant('wait' as const),
        ms: fc.oneof(fc.nat(2_000), fc.nat(70_000), fc.nat(DAY_MS)),
      }),
    },
  ),
  { maxLength: 60 },
)

function entriesOf(world: World): KeyEntry[] {
  const billing = world.tenant.balance === undefined ? 'postpaid' : 'prepaid'
  const tenant = tenantEntry('t', { limits: world.tenant.limits, billing, shadow: world.tenant.shadow })
  return world.keys.map(({ limits: rates, quota, budget, owned, shadow }, index) =>
    keyEntry(`k${index}`, {
      limits: rates,
      shadow,
      ...(quota !== undefined && { quotaTokens: quota }),
      ...(budget !== undefined && {
        budget: { amountNano: BigInt(budget), per: 'day', timezone: 'Asia/Kolkata' },
      }),
      ...(owned && { tenant }),
    }),
  )
}

function codeOf(act: () => unknown): string {
  try {
    act()
    return 'admitted'
  } catch (error) {
    if (error instanceof GwError) return error.code
    throw error
  }
}

test('does what an oracle of plain maps does: never past a limit that is enforced, nothing taken by a rejection, nothing held at the end', {
  timeout: 60_000,
}, () => {
  const seen = new Set<string>()
  const seenInShadow = new Set<string>()
  fc.assert(
    fc.property(worlds, acts, (world, script) => {
      const scene = new Scene()
      const { clock, limiter } = scene
      const oracle = new Oracle(world)
      const keys = entriesOf(world)
      scene.serve(keys, { balances: [['t', BigInt(world.tenant.balance ?? 0)]] })
      const dayNow = () => Math.floor((clock.nowMs() + KOLKATA_MS) / DAY_MS)

      const check = () => {
        for (const [index, key] of keys.entries()) {
          const { quota, budget, balance } = limiter.limitStatus(key)
          const [held, spent] = [oracle.heldOf(index), oracle.spentOf(index, dayNow())]
          if (quota) {
            expect([quota.spent, quota.held]).toEqual([spent.tokens, held.tokens])
            if (!key.shadow?.has('quota')) expect(quota.spent + quota.held).toBeLessThanOrEqual(quota.limit)
          }
          if (budget) {
            expect([budget.spentNano, budget.heldNano]).toEqual([spent.nano, held.nano])
            if (!key.shadow?.has('budget'))
              expect(budget.spentNano + budget.heldNano <= budget.limitNano).toBe(true)
          }
          if (balance) {
            const wallet = oracle.wallet()
            expect([balance.balanceNano, balance.heldNano]).toEqual([wallet.balance, wallet.held])
          }
        }
        expect(limiter.openHolds).toBe(oracle.tickets.filter(({ held }) => held).length)
        expect(limiter.openReservations).toBe(
          oracle.tickets.filter(({ held, permitted }) => held || permitted).length,
        )
      }

      const end = (ticket: Ticket, how: 'settle' | 'release' | 'leave', share: number) => {
        if (how === 'leave') {
          ticket.real.leave()
          ticket.permitted = false
          return
        }
        const { inputTokens } = ticket.real.hold
        const outputTokens = Math.floor(((ticket.tokens - inputTokens) * share) / 100)
        const nano = (ticket.nano * BigInt(share)) / 100n
        const changed =
          how === 'release'
            ? ticket.real.release()
            : ticket.real.settle(used(inputTokens, outputTokens), nano)
        expect(changed).toBe(ticket.held)
        if (!ticket.held) return
        ticket.held = false
        oracle.correct(ticket, how === 'release' ? 0 : inputTokens + outputTokens, clock.monotonicMs())
        if (how === 'release') return
        oracle.bills.push({ key: ticket.key, tokens: inputTokens + outputTokens, nano, day: dayNow() })
        if (outputTokens > 0) oracle.histories.get(ticket.key)?.observe(outputTokens)
      }

      const admit = (act: Extract<CommandHandler, { do: 'admit' }>) => {
        const index = act.key % keys.length
        const key = keys[index]!
        const rated = key.limits.tpm !== undefined || key.tenant?.limits.tpm !== undefined
        if (rated && act.output > 0 && !oracle.histories.has(index))
          oracle.histories.set(index, new OutputEstimator())
        const cap = rated ? (oracle.histories.get(index)?.capTokens ?? 0) : act.output
        const need = {
          tokens: act.input + act.output,
          rated: act.input + Math.min(act.output, cap),
          nano: BigInt(act.nano),
        }
        const { outcome: expected, exceeded } = oracle.admit(index, need, clock.monotonicMs(), dayNow())
        let real: Reservation | undefined
        const outcome = codeOf(() => {
          real = scene.admit(key, holding(act.input, act.output, need.nano), { holdForMs: 1e12 })
        })
        expect(outcome).toBe(expected)
        seen.add(outcome)
        if (!real) return
        expect(real.shadowRejections ?? []).toEqual(exceeded)
        for (const check of exceeded) seenInShadow.add(check)
        oracle.tickets.push({
          key: index,
          ...need,
          exceeded,
          admittedMs: clock.monotonicMs(),
          real,
          held: true,
          permitted: true,
        })
      }

      const count = (index: number) => {
        const key = keys[index]!
        const expected = oracle.count(index, clock.monotonicMs())
        let exceeded: readonly string[] | undefined
        const outcome = codeOf(() => {
          exceeded = limiter.countTokens(key)
        })
        expect([outcome, exceeded ?? []]).toEqual([expected.outcome, expected.exceeded])
      }

      const perform = (act: CommandHandler) => {
        switch (act.do) {
          case 'admit':
            return admit(act)
          case 'count':
            return count(act.key % keys.length)
          case 'wait':
            return clock.advance(act.ms)
          case 'reload':
            scene.sweep()
            return scene.serve(entriesOf(world))
          case 'credit':
            oracle.creditedNano += BigInt(act.nano)
            return limiter.walletQuery(['t']).answerBalances(new Map([['t', oracle.wallet().balance]]))
          case 'settle':
          case 'release':
          case 'leave': {
            const ticket = oracle.tickets[act.which % Math.max(oracle.tickets.length, 1)]
            return ticket && end(ticket, act.do, act.share)
          }
        }
      }

      check()
      for (const act of script) {
        perform(act)
        check()
      }
      for (const ticket of oracle.tickets) {
        end(ticket, 'release', 0)
        end(ticket, 'leave', 0)
      }
      check()
      expect([limiter.openHolds, limiter.openReservations]).toEqual([0, 0])
      for (const key of keys) {
        const { quota, budget, balance } = limiter.limitStatus(key)
        expect([quota?.held ?? 0, budget?.heldNano ?? 0n, balance?.heldNano ?? 0n]).toEqual([0, 0n, 0n])
      }
    }),
    { numRuns: 3_000 },
  )
  // No outcome is left untried.
  expect([...seen].sort()).toEqual([
    'admitted',
    'budget_exceeded',
    'insufficient_balance',
    'quota_exceeded',
    'rate_limit_concurrency',
    'rate_limit_requests',
    'rate_limit_tokens',
  ])
  expect([...seenInShadow].sort()).toEqual([
    'key_budget',
    'key_concurrency',
    'key_quota',
    'key_rpm',
    'key_tpm',
    'tenant_concurrency',
    'tenant_rpm',
    'tenant_tpm',
  ])
})
