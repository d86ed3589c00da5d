import { setImmediate } from 'node:timers/promises'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { Budget } from '../../src/limits/budget.ts'
import { Calendar } from '../../src/limits/calendar.ts'
import { Concurrency } from '../../src/limits/concurrency.ts'
import type { Limit, LimitRequest } from '../../src/limits/limit.ts'
import { Limiter } from '../../src/limits/limiter.ts'
import { assertShares, checkAll, takeAll } from '../../src/limits/limits.ts'
import { requestsPerMinute } from '../../src/limits/requests-per-minute.ts'
import { ShareExchange } from '../../src/limits/shares/share-exchange.ts'
import { ShareHolder } from '../../src/limits/shares/share-holder.ts'
import type { KeyEntry } from '../../src/snapshot/types.ts'
import { Grantor } from '../../src/store/shares/grantor.ts'
import { MemoryTables } from '../store/shares/memory-tables.ts'
import { testClock } from '../support/test-clock.ts'
import { keyEntry, snapshotOf } from './limits-scene.ts'

const DAY_MS = 86_400_000
const NOON_MS = Date.UTC(2026, 10, 10, 12)

/** Gateways with shares of one grantor, whose clock can be set. */
function scene() {
  const clock = testClock(NOON_MS)
  const spends: { atMs: number; nano: bigint }[] = []
  const tables = new MemoryTables((_name, sinceMs) =>
    spends.reduce((sum, { atMs, nano }) => (atMs >= sinceMs ? sum + nano : sum), 0n),
  )
  const grantor = new Grantor(tables, { leaseMs: undefined })
  const gateway = (id: string) => {
    grantor.join(id, clock.nowMs())
    const holder = new ShareHolder({ instance: id, leaseMs: undefined }, 0)
    const exchange = new ShareExchange({
      holder,
      clock,
      answerWithinMs: 1_000,
      isReachable: () => true,
      send: async message => grantor.apply(message, clock.nowMs()),
    })
    return { exchange, sharing: { holder } }
  }
  const requestOf = (entry: KeyEntry, amountNano = 0n): LimitRequest => ({
    entry,
    tokens: 0,
    ratedTokens: 0,
    amountNano,
    nowMs: clock.nowMs(),
    tickMs: clock.monotonicMs(),
    currency: 'EUR',
    revision: 1,
  })
  return { clock, spends, gateway, requestOf }
}

afterEach(() => vi.restoreAllMocks())

describe('a shared budget', () => {
  test('admits no more than its amount after a clock was set forward, and back again', async () => {
    const { clock, spends, gateway, requestOf } = scene()
    const { exchange, sharing } = gateway('a')
    gateway('b')
    const entry = keyEntry('k', { budget: { per: 'month', timezone: 'UTC', amountNano: 1_000n } })
    const budget = new Budget({ kind: 'key', account: 'k' }, sharing, new Calendar())
    const call = () =>
      exchange.admitted(() => {
        const request = requestOf(entry, 100n)
        assertShares([budget], request)
        budget.take(request)
        const charge = { tokens: 0, amountNano: 100n, endedAtMs: request.nowMs }
        budget.release(request, { tickMs: request.tickMs, charge, isWithdrawn: false })
        spends.push({ atMs: request.nowMs, nano: 100n })
      })
    const admitted = async () => {
      clock.advance(1_000)
      for (let count = 0; ; count++) {
        try {
          await call()
        } catch {
          return count
        }
      }
    }
    expect(await admitted()).toBe(10)
    clock.setNowMs(NOON_MS + 111 * DAY_MS)
    clock.advance(1_000)
    await call()
    clock.setNowMs(NOON_MS + 60_000)
    // What was granted in the other window.
    expect(await admitted()).toBe(1)
    clock.setNowMs(NOON_MS + 30 * DAY_MS)
    // The charge of the wrong clock is in every window before it as well.
    expect(await admitted()).toBe(9)
  })

  test('has one calendar with all others', () => {
    const formats = vi.spyOn(Intl, 'DateTimeFormat')
    const limiter = new Limiter(testClock())
    const budget = { per: 'day', timezone: 'Europe/Berlin', amountNano: 1_000n } as const
    const snapshot = snapshotOf(...Array.from({ length: 50 }, (_, at) => keyEntry(`k${at}`, { budget })))
    limiter.balanceQuery(snapshot)
    limiter.adopt(snapshot)
    const { exchange } = scene().gateway('a')
    limiter.share(exchange)
    expect(formats).toHaveBeenCalledTimes(1)
  })
})

test('a shared rate gives a withdrawn request back only while it has not drained', async () => {
  const { clock, gateway, requestOf } = scene()
  const [a, b] = [gateway('a'), gateway('b')]
  const entry = keyEntry('k', { limits: { rpm: 6 } })
  const limitOf = ({ sharing }: typeof a) => requestsPerMinute({ kind: 'key', account: 'k' }, sharing)
  const [ofA, ofB] = [limitOf(a), limitOf(b)]
  const call = async ({ exchange }: typeof a, limit: Limit): Promise<LimitRequest> => {
    const called = exchange.admitted(() => {
      const request = requestOf(entry)
      assertShares([limit], request)
      limit.check(request)
      limit.take(request)
      return request
    })
    // It may wait for what the other one returns.
    while (await Promise.race([called.then(() => false), setImmediate(true)])) clock.advance(50)
    return called
  }
  const withdraw = (limit: Limit, request: LimitRequest) =>
    limit.release(request, { tickMs: clock.monotonicMs(), isWithdrawn: true })
  const admitted = async (from: typeof a, limit: Limit) => {
    for (let count = 0; ; count++) {
      try {
        await call(from, limit)
      } catch {
        return count
      }
    }
  }
  const early = await call(a, ofA)
  await a.exchange.returnAll()
  clock.advance(10_000)
  expect(await admitted(b, ofB)).toBe(6)
  withdraw(ofA, early)
  await a.exchange.returnAll()
  expect(await admitted(a, ofA)).toBe(0)
  clock.advance(60_000)
  const withdrawn = await call(a, ofA)
  withdraw(ofA, withdrawn)
  await a.exchange.returnAll()
  expect(await admitted(b, ofB)).toBe(6)
})

test('a shared limit in shadow mode that is exceeded delays no call', async () => {
  const { clock, gateway, requestOf } = scene()
  const [a, b] = [gateway('a'), gateway('b')]
  const entry = keyEntry('k', { limits: { concurrency: 2 }, shadow: ['concurrency'] })
  const limitOf = ({ sharing }: typeof a) => new Concurrency({ kind: 'key', account: 'k' }, sharing)
  const call = ({ exchange }: typeof a, limit: Limit) =>
    exchange.admitted(() => {
      const request = requestOf(entry)
      assertShares([limit], request)
      const exceeded = checkAll([limit], request)
      takeAll([limit], request, exceeded)
      return exceeded ? 'exceeded' : 'admitted'
    })
  const ofB = limitOf(b)
  expect([await call(b, ofB), await call(b, ofB)]).toEqual(['admitted', 'admitted'])
  const ofA = limitOf(a)
  const first = call(a, ofA)
  // It asks what there is, and waits for what the others return.
  while (await Promise.race([first.then(() => false), setImmediate(true)])) clock.advance(50)
  expect(await first).toBe('exceeded')
  clock.advance(1_000)
  // The clock stands still: these wait for nothing.
  for (let count = 0; count < 3; count++) expect(await call(a, ofA)).toBe('exceeded')
}, 2_000)
