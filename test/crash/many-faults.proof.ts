import { once } from 'node:events'
import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { type FaultyWay, faultyWay, type WayState } from '../support/faulty-way.ts'
import { OwnPostgres } from '../support/own-postgres.ts'
import { emptyDatabase, type TestDatabase } from '../support/postgres.ts'
import { type Load, limitsUnderLoad, type Running, SEED } from './limits-under-load.ts'
import { postgresBooks } from './postgres-books.ts'
import { EXACT_NANO, PATH, SECRET, USAGE } from './scene.ts'

/**
 * Gateways on PostgreSQL under load, and what networks, clocks and machines do to them. `npm run many` runs all of them; those with
 * four gateways take minutes, and nothing else runs them.
 */
const GATEWAYS = 4
const ROUNDS = Number(process.env['GW_FAULTS'] ?? 0)
const STOP_MS = Number(process.env['GW_STOP_MS'] ?? 30_000)
const AWAY_MS = Number(process.env['GW_AWAY_MS'] ?? 60_000)
const long = test.runIf(ROUNDS > 0)
const LONG = { timeout: 600_000 }
const HOUR_MS = 3_600_000
const SHIFTED_CLOCK = fileURLToPath(new URL('../support/shifted-clock.mjs', import.meta.url))

const FAULTS: readonly WayState[] = [
  'stall',
  'stall requests',
  'stall answers',
  'swallow requests',
  'swallow answers',
  'cut',
]

interface Options {
  readonly gateways?: number
  readonly calls?: number
  readonly per?: 'day'
  /** Where gateways and commands find the books. */
  readonly server?: Pick<OwnPostgres, 'port' | 'urlAt' | 'database'>
  /** The ways of the gateways to the server: one of each, or one of all. */
  readonly ways?: readonly FaultyWay[]
  readonly held?: Promise<void>
  /** Where the books are in the end, if not on the server. */
  readonly books?: TestDatabase
  readonly environment?: (index: number) => Readonly<Record<string, string>>
  readonly toRateTime?: (atMs: number) => number
}

async function underLoad(
  {
    gateways = GATEWAYS,
    calls = 300,
    per,
    server,
    ways,
    held,
    books: last,
    environment,
    toRateTime = atMs => atMs,
  }: Options,
  disturb: (load: Load) => Promise<void>,
): Promise<void> {
  const own = server ?? (await startedServer())
  const report = await limitsUnderLoad(
    {
      gateways,
      calls,
      least: 20,
      ...(per && { per }),
      ...(held && { held }),
      storeUrl: own.urlAt((last && ways?.[0]?.port) ?? own.port),
      gateway: index => ({
        ...(ways && { storeUrl: own.urlAt((ways[index % ways.length] as FaultyWay).port) }),
        ...(environment && { environment: environment(index) }),
      }),
      readBooks: async () => {
        const books = await postgresBooks(last ?? own.database)
        return { ...books, rateTimes: books.rateTimes.map(toRateTime).toSorted((a, b) => a - b) }
      },
    },
    disturb,
  )
  console.log(JSON.stringify(report))
}

async function startedServer(): Promise<OwnPostgres> {
  const server = await OwnPostgres.create(onTestFinished)
  await server.start()
  await server.createDatabase()
  return server
}

/** A gateway whose limits others have taken over ends by itself, and is started again. */
async function replaceEnded({ gateways, serve }: Load): Promise<number> {
  let ended = 0
  for (const [index, { child }] of gateways.entries()) {
    if (child.exitCode === null) continue
    gateways[index] = await serve(index)
    ended += 1
  }
  return ended
}

/** Waits until calls are answered again. */
async function goesOn({ completed }: Load): Promise<void> {
  const before = completed()
  await expect.poll(completed, { timeout: 30_000 }).toBeGreaterThan(before + 20)
}

/** Waits until the store knows every gateway as one that lives; those whose limits were taken over are replaced. */
async function allServe(load: Load, database: TestDatabase): Promise<number> {
  let ended = 0
  await expect
    .poll(
      async () => {
        ended += await replaceEnded(load)
        const alive = await database.query<{ pid: number }>(
          `select pid::int from instances
           where is_fenced = 0 and expires_at_ms > extract(epoch from clock_timestamp()) * 1000`,
        )
        const pids = new Set(alive.map(({ pid }) => pid))
        return load.gateways.filter(({ child }) => !pids.has(child.pid as number)).length
      },
      { timeout: 60_000, interval: 200 },
    )
    .toBe(0)
  return ended
}

test('the way to PostgreSQL is cut, and then stalls, for both of 2 gateways: no limit is passed, each answer has its bill', async () => {
  const database = await emptyDatabase(onTestFinished)
  const urlAt = (port: number) => {
    const url = new URL(database.url)
    url.port = String(port)
    return url.href
  }
  const port = Number(new URL(database.url).port)
  const ways = [await faultyWay(port, onTestFinished), await faultyWay(port, onTestFinished)]
  await underLoad({ gateways: 2, calls: 100, server: { port, urlAt, database }, ways }, async load => {
    await goesOn(load)
    for (const fault of ['cut', 'stall'] as const) {
      for (const way of ways) way.set(fault)
      for (const { url } of load.gateways) await expect.poll(() => statusAt(url), PATIENT).toBe(503)
      for (const way of ways) way.set('open')
      await allServe(load, database)
      await goesOn(load)
    }
  })
})

const PATIENT = { timeout: 20_000 }

async function statusAt(url: string): Promise<number> {
  const answer = await post(url, { user: 'APP' })
  await answer.body?.cancel()
  return answer.status
}

long(
  `the way to PostgreSQL is cut, stalls or swallows bytes, in either direction, for one gateway or all: no limit is passed, each answer has its bill`,
  {
    timeout: 120_000 + ROUNDS * 40_000,
  },
  async () => {
    const server = await startedServer()
    const ways = await Promise.all(
      Array.from({ length: GATEWAYS }, () => faultyWay(server.port, onTestFinished)),
    )
    await underLoad({ server, ways, calls: 50 * ROUNDS }, async load => {
      const { random } = load
      for (let round = 0; round < ROUNDS; round++) {
        await pause(200 + random() * 300)
        const fault = FAULTS[round % FAULTS.length] as WayState
        const one = Math.floor(random() * GATEWAYS)
        const failing = random() < 0.3 ? ways : [ways[one] as FaultyWay]
        for (const way of failing) way.set(fault)
        // Some are longer than a lease and the time after which another gateway takes over.
        await pause([500, 3_000, 7_000, 25_000][Math.floor(random() * 4)])
        for (const way of failing) way.set('open')
        await allServe(load, server.database)
      }
      await allServe(load, server.database)
      await goesOn(load)
    })
  },
)

long(
  `a gateway is stopped for ${STOP_MS / 1_000} s: the others go on, and it ends by itself: the same`,
  LONG,
  async () => {
    const server = await startedServer()
    await underLoad({ server, calls: 1_000 }, async load => {
      for (let round = 0; round < 2; round++) {
        await pause(1_000)
        const stopped = load.gateways[round] as Running
        stopped.isStopped = true
        stopped.child.kill('SIGSTOP')
        await pause(STOP_MS)
        await goesOn(load)
        const exited = once(stopped.child, 'exit')
        stopped.child.kill('SIGCONT')
        stopped.isStopped = false
        if (STOP_MS > 20_000) await exited
        await allServe(load, server.database)
      }
      await goesOn(load)
    })
  },
)

long(
  `PostgreSQL is stopped for ${STOP_MS / 1_000} s, and goes on as if nothing had been: the same`,
  LONG,
  async () => {
    const server = await startedServer()
    await underLoad({ server, calls: 1_000 }, async load => {
      for (let round = 0; round < 2; round++) {
        await pause(2_000)
        server.signal('SIGSTOP')
        await pause(STOP_MS)
        server.signal('SIGCONT')
        expect(await allServe(load, server.database), `seed ${SEED}`).toBe(0)
        await goesOn(load)
      }
    })
  },
)

long(
  'the clocks of gateways are hours apart: the same, and all of them are known to be alive',
  LONG,
  async () => {
    const startMs = Date.now()
    const offs = [0, 40, -40, 7].map(hours => hours * HOUR_MS)
    const server = await startedServer()
    await underLoad(
      {
        server,
        calls: 600,
        per: 'day',
        environment: index => ({
          NODE_OPTIONS: `--import=${SHIFTED_CLOCK}`,
          GW_TEST_CLOCK_MS: String(offs[index]),
        }),
        // By the real time: whole hours do not count.
        toRateTime: atMs => (((atMs - startMs + HOUR_MS / 2) % HOUR_MS) + HOUR_MS) % HOUR_MS,
      },
      async load => {
        for (let round = 0; round < 3; round++) {
          await pause(4_000)
          const { stdout } = await load.run(['status', '--format', 'json'])
          const { gateways } = JSON.parse(stdout) as { gateways: { state: string; started_at: string }[] }
          expect(gateways.map(({ state }) => state)).toEqual(load.gateways.map(() => 'ok'))
          for (const { started_at } of gateways)
            expect(Math.abs(Date.parse(started_at) - Date.now())).toBeLessThan(LONG.timeout)
          const { child } = load.gateways[round] as Running
          const exited = once(child, 'exit')
          child.kill('SIGKILL')
          await exited
          load.gateways[round] = await load.serve(round)
          // A gateway that was killed is forgotten when its calls are settled.
          await allServe(load, server.database)
          await expect.poll(async () => (await server.query('select id from gateways')).length).toBe(GATEWAYS)
        }
        await goesOn(load)
      },
    )
  },
)

long(
  `PostgreSQL is away for ${AWAY_MS / 1_000} s: calls that are billed get 503 with retry-after, open streams end whole: the same`,
  LONG,
  async () => {
    const server = await startedServer()
    const held = Promise.withResolvers<void>()
    await underLoad({ server, calls: 1_000, held: held.promise }, async load => {
      await pause(2_000)
      const streams = await Promise.all(
        load.gateways.map(({ url }) => post(url, { stream: true, user: 'HELD' })),
      )
      expect(streams.map(({ status }) => status)).toEqual(streams.map(() => 200))
      const bodies = streams.map(answer => answer.text())
      await server.stop()
      const untilMs = performance.now() + AWAY_MS
      const waits: number[] = []
      // The first calls wait for what the gateway does not know yet.
      while (performance.now() < untilMs) {
        const [{ url }] = load.gateways as [Running]
        const sinceMs = performance.now()
        const answer = await post(url, { user: 'APP' })
        waits.push(performance.now() - sinceMs)
        expect(answer.status).toBe(503)
        expect(answer.headers.get('retry-after')).toMatch(/^[1-9]/)
        await answer.body?.cancel()
        const models = await fetch(`${url}/v1/models`, { headers: AUTHORIZATION })
        expect(models.status).toBe(200)
        await models.body?.cancel()
        if (performance.now() > untilMs - AWAY_MS / 2) held.resolve()
        await pause(200)
      }
      expect(Math.max(...waits)).toBeLessThan(3_000)
      // They have ended while the server was away.
      for (const body of await Promise.all(bodies)) expect(body).toMatch(/data: \[DONE\]\n\n$/)
      await server.start()
      expect(await allServe(load, server.database), `seed ${SEED}`).toBe(0)
      await goesOn(load)
      const ids = streams.map(({ headers }) => headers.get('x-request-id'))
      const { charges } = await postgresBooks(server.database)
      for (const id of ids) expect(charges.get(id ?? '')?.nano).toBe(EXACT_NANO)
    })
  },
)

long('PostgreSQL dies, and a synchronous replica is promoted: the same', LONG, async () => {
  const server = await OwnPostgres.create(onTestFinished, {
    synchronous_standby_names: '*',
    synchronous_commit: 'on',
  })
  const standby = await server.standby(onTestFinished)
  await server.start()
  await standby.start()
  await server.createDatabase()
  const way = await faultyWay(server.port, onTestFinished)
  await underLoad({ server, ways: [way], calls: 600, books: standby.database }, async load => {
    await pause(4_000)
    await server.kill()
    await pause(1_000)
    await standby.query('select pg_promote()')
    way.lead(standby.port)
    await allServe(load, standby.database)
    await goesOn(load)
    await pause(4_000)
  })
})

const AUTHORIZATION = { authorization: `Bearer ${SECRET}` }

function post(url: string, more: object): Promise<Response> {
  const body = JSON.stringify({ model: 'm', max_tokens: USAGE.completion_tokens, ...more })
  return fetch(url + PATH, { method: 'POST', headers: AUTHORIZATION, body: body.padEnd(300) })
}
