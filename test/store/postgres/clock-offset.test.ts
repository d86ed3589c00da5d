import { expect, onTestFinished, test, vi } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { openStore } from '../../../src/store/open.ts'
import { ClockOffset } from '../../../src/store/postgres/clock-offset.ts'
import { storeDatabase } from '../../support/postgres.ts'
import { testClock } from '../../support/test-clock.ts'

const HOUR_MS = 3_600_000

test('the difference to the clock of the server is asked once, and again after a clock was set', async () => {
  onTestFinished(() => void vi.restoreAllMocks())
  let asked = 0
  const serverMs = () => {
    asked += 1
    return Promise.resolve(Math.floor(performance.timeOrigin + performance.now()) + HOUR_MS)
  }
  const offset = new ClockOffset(serverMs)
  expect(Math.abs((await offset.ms()) - HOUR_MS)).toBeLessThan(1_000)
  await offset.ms()
  expect(asked).toBe(1)
  const realMs = Date.now.bind(Date)
  vi.spyOn(Date, 'now').mockImplementation(() => realMs() + HOUR_MS)
  expect(await offset.ms()).toBe(0)
  expect(asked).toBe(2)
})

test('another server that has taken over is asked within a minute', async () => {
  const clock = testClock()
  let aheadMs = 0
  const offset = new ClockOffset(async () => clock.nowMs() + aheadMs, clock)
  expect(await offset.ms()).toBe(0)
  aheadMs = HOUR_MS
  clock.advance(59_000)
  expect(await offset.ms()).toBe(0)
  clock.advance(1_000)
  expect(await offset.ms()).toBe(HOUR_MS)
})

test('an answer that comes late is no difference, and does not change one that is known', async () => {
  const clock = testClock()
  let [aheadMs, lateMs] = [0, 5_000]
  const offset = new ClockOffset(async () => {
    const serverMs = clock.nowMs() + aheadMs
    clock.advance(lateMs)
    return serverMs
  }, clock)
  expect(await offset.ms()).toBe(0)
  aheadMs = HOUR_MS
  lateMs = 0
  clock.advance(60_000)
  expect(await offset.ms()).toBe(HOUR_MS)
  lateMs = 5_000
  clock.advance(60_000)
  expect(await offset.ms()).toBe(HOUR_MS)
})

test('a gateway whose clock is hours ahead neither forgets the others, nor is silent to them', async () => {
  onTestFinished(() => void vi.restoreAllMocks())
  const { url } = await storeDatabase(onTestFinished)
  const open = async () => {
    const store = await openStore(url, { mode: 'write', clock: systemClock })
    onTestFinished(() => store.close())
    return store
  }
  const report = (id: string) => ({
    id,
    pid: 1,
    host: 'here',
    startedAtMs: Date.now(),
    revision: 0,
    keyVersion: 0,
  })
  const own = await open()
  await own.reportGateway(report('own'))
  const realMs = Date.now.bind(Date)
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => realMs() + 3 * HOUR_MS)
  const ahead = await open()
  await ahead.reportGateway(report('ahead'))
  clock.mockRestore()
  const gateways = await own.gateways()
  expect(gateways.map(({ id }) => id).toSorted()).toEqual(['ahead', 'own'])
  for (const { startedAtMs, seenAtMs } of gateways)
    for (const atMs of [startedAtMs, seenAtMs]) expect(Math.abs(atMs - Date.now())).toBeLessThan(60_000)
})
