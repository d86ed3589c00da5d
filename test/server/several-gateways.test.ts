import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { GwError } from '../../src/base/catalogue/wire.ts'
import { systemClock } from '../../src/base/clock.ts'
import { createLog } from '../../src/base/log.ts'
import { Limiter } from '../../src/limits/limiter.ts'
import type { Reservation } from '../../src/limits/reservation.ts'
import { BalanceShort } from '../../src/schema/ledger.ts'
import { LedgerRuntime } from '../../src/server/ledger-runtime.ts'
import type { KeyEntry, Snapshot } from '../../src/snapshot/types.ts'
import { LedgerThread } from '../../src/store/ledger/ledger-thread.ts'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/types.ts'
import { holding, keyEntry, MODEL, snapshotOf, tenantEntry, used } from '../limits/limits-scene.ts'
import { WORKER_URL } from '../store/ledger/opened.ts'
import { canonical, MINE, put } from '../store/samples.ts'
import { storeOfFolder } from '../support/store-of-folder.ts'
import { tempDir } from '../support/temp-dir.ts'

const HOUR_MS = 3_600_000

/** Gateways of one store, without HTTP. */
async function scene() {
  const folder = tempDir(onTestFinished)
  const url = await storeOfFolder(folder.path)
  const store = await openStore(url, { mode: 'create', clock: systemClock })
  onTestFinished(() => store.close())
  const lines: string[] = []
  const log = createLog({ write: line => lines.push(line) }, { level: 'warn', pretty: false, colour: false })
  let requests = 0
  /** `aheadMs`: what its clock is ahead; `offMs`: what it hears about the clock of the store. */
  const open = async (snapshot: Snapshot, isShared = false, { aheadMs = 0, offMs = 0 } = {}) => {
    const createLedgerThread = () => new LedgerThread(WORKER_URL)
    const runtime = await LedgerRuntime.open(url, {
      clock: { ...systemClock, nowMs: () => Date.now() + aheadMs },
      clockOffMs: async () => offMs,
      log,
      cwd: folder.path,
      ledgerThread: createLedgerThread(),
      createLedgerThread,
      isShared,
      onDeath: error => lines.push(`death: ${error.message}`),
    })
    onTestFinished(() => runtime.close().then(() => undefined))
    await runtime.prepare(snapshot)
    runtime.adopt(snapshot)
    return runtime
  }
  /** Admits a call, and writes its hold. */
  const begin = async (
    { limiter, ledger }: LedgerRuntime,
    key: KeyEntry,
    tokens: number,
    amountNano = 0n,
  ): Promise<Reservation> => {
    const requestId = `r${++requests}`
    const reservation = await limiter.admitted(() =>
      limiter.admit({
        requestId,
        key,
        publication: MODEL,
        estimate: holding(tokens, 0, amountNano),
        revision: 1,
        holdForMs: 600_000,
      }),
    )
    await ledger.open({ ...claimOf(reservation, key), ...reservation.hold }).catch((error: unknown) => {
      throw error instanceof BalanceShort ? reservation.uncovered(error) : error
    })
    return reservation
  }
  const end = async (runtime: LedgerRuntime, key: KeyEntry, reservation: Reservation, tokens: number) => {
    const endedAtMs = runtime.clock.nowMs()
    const { amountNano } = reservation.hold
    reservation.settle(used(tokens), amountNano, endedAtMs)
    await runtime.ledger.end({
      ...claimOf(reservation, key),
      kind: 'settle',
      endedAtMs,
      amountNano,
      usage: used(tokens),
      flags: [],
    })
    reservation.leave()
  }
  const call = async (runtime: LedgerRuntime, key: KeyEntry, tokens: number, amountNano = 0n) =>
    end(runtime, key, await begin(runtime, key, tokens, amountNano), tokens)
  return { store, lines, open, begin, end, call }
}

function claimOf({ hold: { requestId } }: Reservation, { account, tenant }: KeyEntry) {
  return {
    requestId,
    attempt: 1,
    key: account,
    tenant: tenant?.account,
    publication: MODEL.account,
    endpoint: 'east',
  }
}

/** Runs calls at one gateway until one is rejected. @returns how many were admitted, and the code of the rejection. */
async function untilRejected(call: () => Promise<void>): Promise<{ count: number; code: string }> {
  for (let count = 0; ; count++) {
    try {
      await call()
    } catch (error) {
      return { count, code: error instanceof GwError ? error.code : String(error) }
    }
  }
}

test('a gateway that is alone is whole; a second one shares its limits, with the calls in flight', async () => {
  const key = keyEntry('app', { quotaTokens: 1_000 })
  const { open, begin, end, call, lines, store } = await scene()
  const first = await open(snapshotOf(key))
  expect(first.isSharing).toBe(false)
  const going = await begin(first, key, 400)
  await call(first, key, 100)
  const second = await open(snapshotOf(key))
  expect([first.isSharing, second.isSharing]).toEqual([true, true])
  // 1,000 − 100 spent − 400 held.
  const more = await untilRejected(() => call(second, key, 50))
  expect(more).toEqual({ count: 10, code: 'quota_exceeded' })
  await end(first, key, going, 300)
  // A gateway that was granted nothing asks again a moment later.
  await pause(150)
  const rest = await untilRejected(() => call(second, key, 10))
  expect(rest).toEqual({ count: 10, code: 'quota_exceeded' })
  expect(await untilRejected(() => call(first, key, 1))).toEqual({ count: 0, code: 'quota_exceeded' })
  await Promise.all([first.close(), second.close()])
  expect((await store.accounting.verify()).findings).toEqual([])
  expect(lines).toEqual([])
})

test.each([
  ['ahead begins no window of a budget', { aheadMs: 40 * HOUR_MS }],
  ['behind dates its charges by the clock of the store', { aheadMs: -40 * HOUR_MS, offMs: 40 * HOUR_MS }],
])('a gateway whose clock is %s', async (_title, clocks) => {
  const key = keyEntry('app', { budget: { amountNano: 1_000n, per: 'day', timezone: 'UTC' } })
  const { open, call } = await scene()
  const right = await open(snapshotOf(key), true)
  const wrong = await open(snapshotOf(key), true, clocks)
  const calls = (runtime: LedgerRuntime) => untilRejected(() => call(runtime, key, 1, 100n))
  await call(right, key, 1, 100n)
  expect(await calls(wrong)).toEqual({ count: 9, code: 'budget_exceeded' })
  await pause(150)
  expect(await calls(right)).toEqual({ count: 0, code: 'budget_exceeded' })
})

test('together they admit exactly the quota, the budget and the rate, whatever each of them asks', async () => {
  const limits = {
    quota: keyEntry('quota', { quotaTokens: 5_000 }),
    budget: keyEntry('budget', {
      budget: { amountNano: 5_000n, per: 'month', timezone: 'UTC' },
    }),
    rate: keyEntry('rate', { limits: { rpm: { limit: 60, burst: 40 } } }),
  }
  const snapshot = snapshotOf(...Object.values(limits))
  const { open, call, store } = await scene()
  const gateways = await Promise.all([1, 2, 3].map(() => open(snapshot, true)))
  const at = performance.now()
  const admitted = { quota: 0, budget: 0, rate: 0 }
  for (const name of ['quota', 'budget', 'rate'] as const) {
    const callers = gateways.flatMap(gateway =>
      Array.from({ length: 4 }, () =>
        untilRejected(async () => {
          await call(gateway, limits[name], 13, 13n)
          admitted[name] += 1
        }),
      ),
    )
    await Promise.all(callers)
  }
  expect(admitted.quota).toBe(Math.floor(5_000 / 13))
  expect(admitted.budget).toBe(Math.floor(5_000 / 13))
  const drained = (performance.now() - at) / 1_000
  expect(admitted.rate).toBeGreaterThanOrEqual(39)
  expect(admitted.rate).toBeLessThanOrEqual(40 + drained)
  await Promise.all(gateways.map(gateway => gateway.close()))
  expect((await store.accounting.verify()).findings).toEqual([])
})

test('a concurrency of 1 is one call over all gateways, and each of them gets its turn', async () => {
  const key = keyEntry('app', { limits: { concurrency: 1 } })
  const { open, begin, end } = await scene()
  const [first, second] = [await open(snapshotOf(key), true), await open(snapshotOf(key), true)]
  for (const [one, other] of [
    [first, second],
    [second, first],
    [first, second],
  ] as const) {
    const going = await begin(one, key, 1)
    await expect(begin(other, key, 1)).rejects.toMatchObject({ code: 'rate_limit_concurrency' })
    await end(one, key, going, 1)
    // A gateway that was granted nothing asks again a moment later.
    await pause(150)
  }
})

/** A prepaid tenant with a credit. */
async function prepaid(store: Store, amountNano: bigint): Promise<KeyEntry> {
  await put(store, {
    kind: 'tenant',
    name: 'acme',
    spec: canonical('tenant', { billing: 'prepaid' }),
    ...MINE,
  })
  await store.accounting.credit({ tenant: 'acme', amountNano, reference: 'first' })
  return keyEntry('app', { tenant: tenantEntry('acme', { billing: 'prepaid' }) })
}

test('a balance is never overspent by two gateways, which spend it without a commit for each call', async () => {
  const { open, begin, end, store } = await scene()
  const key = await prepaid(store, 100n)
  const [first, second] = [await open(snapshotOf(key), true), await open(snapshotOf(key), true)]
  const one = await begin(first, key, 1, 60n)
  expect(one.hold.prepaid).toBe(false)
  await expect(begin(second, key, 1, 60n)).rejects.toMatchObject({ code: 'insufficient_balance' })
  const two = await begin(second, key, 1, 40n)
  await end(second, key, two, 1)
  await end(first, key, one, 1)
  await Promise.all([first.ledger.flush(), second.ledger.flush()])
  expect((await store.accounting.wallet('acme')).balanceNano).toBe(0n)
})

test('a balance is spent to the last unit, with a charge in flight of the gateway that was alone', async () => {
  const { open, begin, end, call, store, lines } = await scene()
  const key = await prepaid(store, 1_000n)
  const first = await open(snapshotOf(key))
  const going = await begin(first, key, 1, 300n)
  expect(going.hold.prepaid).toBe(true)
  const second = await open(snapshotOf(key))
  const calls = [first, second].map(gateway => untilRejected(() => call(gateway, key, 1, 7n)))
  const counts = await Promise.all(calls)
  expect(counts.map(({ code }) => code)).toEqual(['insufficient_balance', 'insufficient_balance'])
  await end(first, key, going, 1)
  await pause(150)
  const rest = await untilRejected(() => call(second, key, 1, 7n))
  expect([...counts, rest].reduce((sum, { count }) => sum + count, 0)).toBe(Math.floor(700 / 7))
  await store.accounting.credit({ tenant: 'acme', amountNano: 21n, reference: 'second' })
  await pause(150)
  expect((await untilRejected(() => call(first, key, 1, 7n))).count).toBe(3)
  await Promise.all([first.close(), second.close()])
  expect((await store.accounting.wallet('acme')).balanceNano).toBe(0n)
  expect((await store.accounting.verify()).findings).toEqual([])
  expect(lines).toEqual([])
})

test('a debit takes what gateways do not use, and nothing that calls hold', async () => {
  const { open, begin, end, call, store } = await scene()
  const key = await prepaid(store, 1_000n)
  const gateways = [await open(snapshotOf(key), true), await open(snapshotOf(key), true)] as const
  for (const gateway of gateways) for (let count = 0; count < 10; count++) await call(gateway, key, 1, 20n)
  const going = await begin(gateways[0], key, 1, 200n)
  const debit = (amountNano: bigint, reference: string) =>
    store.accounting.debit({ tenant: 'acme', amountNano, reference })
  await expect(debit(401n, 'too much')).rejects.toMatchObject({
    code: 'balance_too_low',
    message: expect.stringContaining('held 0.0000002'),
  })
  expect(await debit(400n, 'all that is free')).toMatchObject({ balanceNano: 200n })
  for (const gateway of gateways)
    await expect(begin(gateway, key, 1, 1n)).rejects.toMatchObject({ code: 'insufficient_balance' })
  await end(gateways[0], key, going, 1)
  await Promise.all(gateways.map(gateway => gateway.close()))
  expect((await store.accounting.wallet('acme')).balanceNano).toBe(0n)
})

test('what a gateway that leaves has not used, the others get', async () => {
  const key = keyEntry('app', { quotaTokens: 1_000, limits: { rpm: 10 } })
  const { open, call } = await scene()
  const [first, second] = [await open(snapshotOf(key), true), await open(snapshotOf(key), true)]
  await call(first, key, 10)
  await first.close()
  expect(await untilRejected(() => call(second, key, 10))).toMatchObject({
    count: 9,
    code: 'rate_limit_requests',
  })
})

test('no call is rejected for what another gateway has and does not use', async () => {
  const key = keyEntry('app', { quotaTokens: 100_000 })
  const { open, call } = await scene()
  const first = await open(snapshotOf(key), true)
  // Alone among those that share, it gets everything.
  await call(first, key, 10)
  const second = await open(snapshotOf(key), true)
  const calls = Array.from({ length: 20 }, async (_, at) => {
    await pause(10 * at)
    await call(second, key, 10)
  })
  await Promise.all(calls)
})

test('a report has what all gateways use: of a gateway, which asks as a call does, and of the store', async () => {
  const key = keyEntry('app', { quotaTokens: 1_000, limits: { rpm: 10, concurrency: 3 } })
  const { open, begin, call, store } = await scene()
  const [first, second] = [await open(snapshotOf(key), true), await open(snapshotOf(key), true)]
  await call(first, key, 300)
  const going = await begin(first, key, 200)
  const asked = { publication: MODEL, estimate: holding(500, 0, 0n) }
  await second.limiter.refresh(key, asked)
  const reports = second.limiter.inspect(key, asked)
  expect(reports.map(({ info, usage, rejection }) => [info.name, usage.used, usage.held, rejection])).toEqual(
    [
      ['concurrency', 0, 1, undefined],
      ['rpm', expect.any(Number), 0, undefined],
      // All that the first one does not use was returned.
      ['quota', 300, 200, undefined],
    ],
  )
  const more = { publication: MODEL, estimate: holding(501, 0, 0n) }
  await second.limiter.refresh(key, more)
  expect(second.limiter.inspect(key, more).map(({ rejection }) => rejection?.code)).toEqual([
    undefined,
    undefined,
    'quota_exceeded',
  ])
  const observer = new Limiter(systemClock)
  observer.adopt(snapshotOf(key))
  observer.observe(await store.accounting.sharedLimits(['key app', 'key none']))
  const observed = observer.inspect(key, asked).map(({ info, usage }) => [info.name, usage.used])
  expect(observed).toEqual([
    ['concurrency', 0],
    ['rpm', expect.any(Number)],
    ['quota', 300],
  ])
  // What a gateway has, and perhaps does not use, is free: a gateway that is alone has all of it.
  expect(observer.inspect(key, asked).map(({ usage, rejection }) => [usage.held, rejection])).toEqual([
    [0, undefined],
    [0, undefined],
    [0, undefined],
  ])
  going.release()
  going.leave()
})
