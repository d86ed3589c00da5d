import { expect, onTestFinished, test } from 'vitest'
import { createLog } from '../../src/base/log.ts'
import { systemRandom } from '../../src/base/random.ts'
import { Heartbeat } from '../../src/server/heartbeat.ts'
import { isAlive } from '../../src/services/gateways.ts'
import type { ReloadReport } from '../../src/snapshot/holder.ts'
import type { EndpointHealth } from '../../src/upstream/routing/endpoint-state.ts'
import { emptyDatabase } from '../store/stores.ts'
import { testClock } from '../support/test-clock.ts'

async function setUp() {
  const clock = testClock(10_000)
  const database = emptyDatabase(onTestFinished)
  const store = await database.open(clock)
  let report: ReloadReport = { revision: 3, ok: true, atMs: 0 }
  const lines: string[] = []
  let health: readonly EndpointHealth[] = []
  let reporting = Promise.resolve()
  const log = createLog(
    { write: line => void lines.push(line) },
    { level: 'info', pretty: false, colour: false },
  )
  const heartbeat = new Heartbeat({
    store: {
      reportGateway: (of, endpoints) => (reporting = store.reportGateway(of, endpoints)),
      forgetGateway: id => store.forgetGateway(id),
    },
    holder: { current: () => undefined, report: () => report },
    health: () => health,
    clock,
    random: systemRandom,
    log,
    version: '1.2.3',
  })
  onTestFinished(() => heartbeat.leave())
  /** Resolves when the first report is in the store. */
  const start = async () => {
    heartbeat.start('http://127.0.0.1:1')
    await reporting
  }
  /** Resolves when the look that was due has ended, and its report, if it made one, is in the store. */
  const look = async (ms: number) => {
    await clock.waiting()
    clock.advance(ms)
    await clock.waiting()
    await reporting
  }
  return {
    clock,
    store,
    database,
    heartbeat,
    start,
    look,
    lines,
    becomes: (next: ReloadReport) => (report = next),
    sees: (next: readonly EndpointHealth[]) => (health = next),
  }
}

test('a gateway tells at once what it serves, and soon what it cannot', async () => {
  const { store, start, look, becomes } = await setUp()
  await start()
  expect(await store.gateways()).toMatchObject([
    { revision: 3, version: '1.2.3', url: 'http://127.0.0.1:1', startedAtMs: 10_000, pid: process.pid },
  ])
  becomes({ revision: 3, ok: false, atMs: 1, rejected: { revision: 4, problems: ['a', 'b'] } })
  await look(500)
  expect(await store.gateways()).toMatchObject([{ revision: 3, rejected: { revision: 4, reason: 'a; b' } }])
})

test('a revision that is served is reported at once, without a look of the clock', async () => {
  const { store, heartbeat, start, becomes } = await setUp()
  heartbeat.served()
  expect(await store.gateways()).toEqual([])
  await start()
  becomes({ revision: 4, ok: true, atMs: 1 })
  heartbeat.served()
  await expect.poll(async () => (await store.gateways())[0]?.revision).toBe(4)
})

test('a calm gateway is heard of every five seconds; one that is silent for longer counts as gone', async () => {
  const { clock, store, start, look } = await setUp()
  await start()
  for (let beat = 0; beat < 11; beat++) await look(500)
  const [seen] = await store.gateways()
  expect(seen?.seenAtMs).toBe(15_000)
  expect(isAlive({ seenAtMs: 15_000 }, clock.nowMs() + 10_000)).toBe(true)
  expect(isAlive({ seenAtMs: 15_000 }, clock.nowMs() + 60_000)).toBe(false)
})

test('a gateway that ends takes its word back and looks no more', async () => {
  const { clock, store, heartbeat } = await setUp()
  heartbeat.start('http://x')
  await heartbeat.leave()
  expect(await store.gateways()).toEqual([])
  expect(clock.pending).toBe(0)
})

test('a store that cannot be written is complained of once, and disturbs nothing else', async () => {
  const { database, start, look, lines } = await setUp()
  await start()
  await database.execute('drop table gateways')
  for (let beat = 0; beat < 12; beat++) {
    await look(500).catch(() => undefined)
    await new Promise(resolve => setImmediate(resolve))
  }
  expect(lines.filter(line => line.includes('cannot report the state of this gateway'))).toHaveLength(1)
})

test('a gateway tells what it has seen of its endpoints as it changes, and nothing of those that have not answered', async () => {
  const { store, heartbeat, start, look, sees } = await setUp()
  const endpoints = async () => (await store.gateways())[0]?.endpoints
  const unknown = { endpoint: 'new', state: 'unknown', sinceMs: 1, inFlight: 0 } as const
  const well = { endpoint: 'a', state: 'healthy', sinceMs: 2, inFlight: 1 } as const
  const ill = {
    endpoint: 'b',
    state: 'unhealthy',
    sinceMs: 3,
    reason: 'b answered 500',
    inFlight: 0,
  } as const
  sees([unknown, well, ill])
  await start()
  expect(await endpoints()).toEqual([
    { endpoint: 'a', state: 'healthy', sinceMs: 2 },
    { endpoint: 'b', state: 'unhealthy', sinceMs: 3, reason: 'b answered 500' },
  ])
  sees([{ ...well, state: 'unhealthy', sinceMs: 4, inFlight: 7 }])
  await look(500)
  expect(await endpoints()).toEqual([{ endpoint: 'a', state: 'unhealthy', sinceMs: 4 }])
  await heartbeat.leave()
  expect(await store.gateways()).toEqual([])
})
