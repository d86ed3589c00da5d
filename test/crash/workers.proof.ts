import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { MIGRATIONS } from '../../src/store/migrations/list.ts'
import { MIGRATIONS as POSTGRES_MIGRATIONS } from '../../src/store/postgres/migrations/list.ts'
import { json, sse } from '../support/answers.ts'
import { select } from '../support/past-the-store.ts'
import { seeded } from '../support/seeded.ts'
import { tempDir } from '../support/temp-dir.ts'
import { ON_POSTGRES } from '../support/test-engine.ts'
import { call } from './clients.ts'
import {
  EVENTS,
  EXACT_NANO,
  environmentOf,
  GW,
  gw,
  isComplete,
  PATH,
  type Scene,
  SECRET,
  said,
  scene,
  THIS_GW,
  textOf,
  USAGE,
} from './scene.ts'
import { numberedBody, numberIn, readBooks } from './served.ts'

const RESTARTS = Number(process.env['GW_RESTARTS'] ?? 4)
const WORKERS = 2
const CLIENTS = 12
const SEED = Number(process.env['GW_SEED'] ?? Date.now() % 1_000_000)
const REPLACED_MS = 60_000
const TEST_MS = 90_000 + RESTARTS * 20_000

const NEWEST_MIGRATION = Object.keys(ON_POSTGRES ? POSTGRES_MIGRATIONS : MIGRATIONS).at(-1)

/** The gateways that report to the store, in the order of their start. */
function gatewaysOf(path: string): Promise<{ id: string; pid: number; supervisor: number }[]> {
  return select(
    path,
    'select id, cast(pid as int) as pid, cast(supervisor_pid as int) as supervisor from gateways order by started_at_ms',
  )
}

/** Resolves when the workers of the store are so many, and others than before. @param log what the supervisor has said */
async function replaced(
  path: string,
  before: readonly string[],
  workers = WORKERS,
  log?: () => string,
): Promise<void> {
  const untilMs = performance.now() + REPLACED_MS
  for (;;) {
    const ids = (await gatewaysOf(path)).map(({ id }) => id)
    if (ids.length === workers && !ids.some(id => before.includes(id))) return
    if (performance.now() > untilMs)
      throw new Error(`the workers are ${ids.join()}, before ${before.join()}: ${log?.()}`)
    await pause(50)
  }
}

/** The command behind an address; ended by SIGTERM to its process. */
interface Served {
  readonly url: string
  /** Of the supervisor, or the only gateway. */
  readonly pid: () => number | Promise<number>
  /** Resolves with its exit code. */
  readonly ended: Promise<unknown>
  /** What it has said on stderr. */
  readonly log: () => string
}

type Start = (scene: Scene, workers: number) => Promise<Served>

const SERVE = ['serve', '--gateway-only', '--log-level', 'error']

const startWorkers: Start = async ({ serve }, workers) => {
  const { child, url } = await serve('--workers', String(workers))
  return {
    url,
    pid: () => child.pid ?? 0,
    ended: once(child, 'exit').then(([code]) => code as unknown),
    log: () => textOf(child),
  }
}

/** A copy of the program, in a folder of its own, as an installation. */
function installation(): {
  readonly main: string
  /** This version in its place. */
  readonly upgrade: () => void
  readonly addMigration: (name: string, sql: string) => void
} {
  const { path } = tempDir(onTestFinished)
  const install = (root: string) => {
    for (const part of ['bin', 'dist/bundle', 'package.json']) {
      rmSync(join(path, part), { recursive: true, force: true })
      cpSync(join(root, part), join(path, part), { recursive: true })
    }
  }
  const root = dirname(dirname(GW))
  install(root)
  symlinkSync(join(root, 'node_modules'), join(path, 'node_modules'))
  const patch = (file: string, last: RegExp, added: string) => {
    const found = readdirSync(`${path}/dist/bundle`).filter(name => name.startsWith(file))
    const texts = found.map(
      name => [`${path}/dist/bundle/${name}`, readFileSync(`${path}/dist/bundle/${name}`, 'utf8')] as const,
    )
    const [place] = texts.filter(([, text]) => last.test(text))
    if (!place) throw new Error(`the list of migrations is not in ${found.join(', ')}`)
    writeFileSync(
      place[0],
      place[1].replace(last, matched => matched + added),
    )
  }
  return {
    main: `${path}/bin/gw.js`,
    upgrade: () => install(fileURLToPath(new URL('../../', import.meta.url))),
    /** As a later version has it. */
    addMigration(name, text) {
      if (!ON_POSTGRES)
        patch('part-', new RegExp(`MIGRATION_NAMES = \\[[^\\]]*"${NEWEST_MIGRATION}"`), `, "${name}"`)
      const up = `{ async up(db) { await sql.raw(${JSON.stringify(text)}).execute(db) } }`
      patch('part-list', new RegExp(`"0001-baseline": [^]*(?="${NEWEST_MIGRATION}")`), `"${name}": ${up}, `)
    },
  }
}

function startInstallation(main: string): Start {
  return async ({ dir }, workers) => {
    const child = spawn(
      process.execPath,
      [main, ...SERVE, '--listen', '127.0.0.1:0', '--workers', String(workers)],
      {
        cwd: dir.path,
        env: await environmentOf(dir),
        stdio: ['ignore', 'ignore', 'pipe'],
      },
    )
    onTestFinished(() => void child.kill('SIGKILL'))
    const url = (await said(child, 'Gateway on ')).slice('Gateway on '.length)
    return {
      url,
      pid: () => child.pid ?? 0,
      ended: once(child, 'exit').then(([code]) => code as unknown),
      log: () => textOf(child),
    }
  }
}

/** Opens a socket, and runs a command with it so many times, one after the other, as systemd does. Accepts nothing itself. */
const SOCKET_UNIT = `
  const { createServer } = require('node:net')
  const { spawnSync } = require('node:child_process')
  const server = createServer()
  server.listen({ host: '127.0.0.1', port: 0, backlog: 4096 }, () => {
    console.error('Port ' + server.address().port)
    const activate = 'LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=gateway exec "$@"'
    const stdio = ['ignore', 'inherit', 'inherit', server._handle.fd]
    for (let start = 0; start < Number(process.argv[1]); start++)
      process.exitCode = spawnSync('sh', ['-c', activate, 'sh', ...process.argv.slice(2)], { stdio }).status
    process.exit()
  })`

/** As a service with a socket unit, which is started so many times. */
function startService(starts: number): Start {
  return async ({ dir, path }, workers) => {
    const flags = [...SERVE, '--listen', 'systemd:gateway', '--workers', String(workers)]
    const command = [process.execPath, GW, ...flags]
    const child = spawn(process.execPath, ['-e', SOCKET_UNIT, String(starts), ...command], {
      cwd: dir.path,
      env: await environmentOf(dir),
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    const port = (await said(child, 'Port ')).slice('Port '.length)
    return {
      url: `http://127.0.0.1:${port}`,
      pid: async () => (await gatewaysOf(path)).at(-1)?.supervisor ?? 0,
      ended: once(child, 'exit').then(([code]) => code as unknown),
      log: () => textOf(child),
    }
  }
}

/**
 * Calls all the time, as many at once, over connections that stay and new ones, streamed and not.
 * @param program reads the books.
 */
async function load(workers = WORKERS, start = startWorkers, program = GW) {
  const made = await scene()
  const { dir, upstream, path } = made
  const random = seeded(SEED)
  const reached = new Set<number>()
  upstream.answer(async exchange => {
    const body = exchange.request.json() as { stream: boolean; max_tokens: number }
    const { stream } = body
    reached.add(numberIn(body))
    const moment = () => pause(random() < 0.1 ? 1_500 : random() * 20)
    const answer = stream
      ? sse([EVENTS[0], moment(), EVENTS[1], EVENTS[2]])
      : json({ choices: [], usage: USAGE })
    if (!stream) await moment()
    await answer(exchange)
  })
  const { url, pid, ended, log } = await start(made, workers)
  await replaced(path, [], workers, log)
  const [kept, fresh] = [new Agent({ keepAlive: true }), new Agent({ keepAlive: false })]
  onTestFinished(() => kept.destroy())
  const completed: string[] = []
  const failed: unknown[] = []
  const state = { isOver: false, next: 0 }
  const client = async (): Promise<void> => {
    while (!state.isOver) {
      const number = state.next++
      const stream = number % 2 === 0
      const agent = number % 3 === 0 ? fresh : kept
      const body = numberedBody(number, { path: PATH, model: 'm', stream })
      const send = () => call(url, { agent, path: PATH, body, secret: SECRET })
      let seen = await send()
      // A kept connection may end while a request is on its way to it: that call is not served, and may be sent again
      // (RFC 9112 §9.3.1), which SDKs do.
      if (seen.fault === 'ECONNRESET' && seen.isReused && !reached.has(number)) seen = await send()
      if (isComplete(seen, stream)) completed.push(seen.requestId ?? '')
      else failed.push({ number, ...seen })
    }
  }
  const clients = Array.from({ length: CLIENTS }, client)
  /** Fails with what the log knows of the reasons. */
  const expectNoneFailed = async () => {
    const reasons =
      failed.length === 0
        ? ''
        : (await gw(dir, ['logs', '--outcome', 'rejected', '--format', 'json'], program)).stdout
    expect(failed, `seed ${SEED} ${reasons}`).toEqual([])
  }
  /** Ends the calls and the gateway, and checks the bills. */
  const finish = async () => {
    state.isOver = true
    await Promise.all(clients)
    process.kill(await pid(), 'SIGTERM')
    expect(await ended).toBe(0)
    expect(await gw(dir, ['ledger', 'verify'], program)).toMatchObject({ exit: 0 })
    const { booked, open } = await readBooks(path)
    expect(open).toBe(0)
    const lost = completed.filter(id => booked.get(id)?.ends[0]?.amountNano !== EXACT_NANO)
    expect(lost, `seed ${SEED}: completed, but not billed`).toEqual([])
    expect(await gatewaysOf(path)).toEqual([])
    return { completed, failed }
  }
  return { url, dir, path, pid, failed, expectNoneFailed, completed, finish, log }
}

test(
  `${RESTARTS} restarts of ${WORKERS} workers under load: no connection is refused, no call fails, no stream is cut`,
  async () => {
    const { path, pid, expectNoneFailed, completed, finish } = await load()
    for (let restart = 0; restart < RESTARTS; restart++) {
      await pause(500)
      const before = await gatewaysOf(path)
      expect(new Set(before.map(({ supervisor }) => supervisor))).toEqual(new Set([await pid()]))
      process.kill(await pid(), 'SIGHUP')
      await replaced(
        path,
        before.map(({ id }) => id),
      )
      await expectNoneFailed()
    }
    await finish()
    await expectNoneFailed()
    expect(completed.length).toBeGreaterThan(RESTARTS * 20)
    tell(`restarts ${RESTARTS}, calls ${completed.length}, failed 0, seed ${SEED}`)
  },
  TEST_MS,
)

test(
  'a worker that is killed is replaced, its calls are settled, and the other one serves meanwhile',
  async () => {
    const { url, path, failed, completed, finish } = await load()
    await pause(1_000)
    const [victim] = await gatewaysOf(path)
    if (!victim) throw new Error('no worker serves')
    process.kill(victim.pid, 'SIGKILL')
    const count = completed.length
    // The other one says so, until there are two again.
    await pause(100)
    const health = async (): Promise<{ reasons: string[] }> => {
      try {
        return (await (await fetch(new URL('/health', url))).json()) as { reasons: string[] }
      } catch (error) {
        // The killed worker had accepted this connection: another one is for the other worker.
        if (!isReset(error)) throw error
        return health()
      }
    }
    while (!(await health()).reasons.some(reason => reason.startsWith('workers_missing'))) await pause(5)
    while ((await health()).reasons.length > 0) await pause(50)
    expect(completed.length).toBeGreaterThan(count)
    for (;;) {
      const ids = (await gatewaysOf(path)).map(({ id }) => id)
      if (ids.length === WORKERS && !ids.includes(victim.id)) break
      await pause(50)
    }
    await finish()
    // Only calls that the killed worker had.
    expect(failed.length).toBeLessThanOrEqual(CLIENTS)
  },
  TEST_MS,
)

test(
  'one worker is replaced without an interruption as well, and `gw restart` waits for it',
  async () => {
    const { dir, path, failed, finish } = await load(1)
    const [before] = await gatewaysOf(path)
    const restarted = await gw(dir, ['restart'])
    expect(restarted).toEqual({ exit: 0, stdout: expect.stringContaining('1 gateway') })
    expect((await gatewaysOf(path)).map(({ id }) => id)).not.toContain(before?.id)
    await finish()
    expect(failed).toEqual([])
  },
  TEST_MS,
)

test(
  'behind a socket of systemd the supervisor itself is stopped and started under load: no connection is refused, no call fails',
  async () => {
    const stops = 3
    const { path, pid, expectNoneFailed, completed, finish } = await load(WORKERS, startService(stops + 1))
    for (let stop = 0; stop < stops; stop++) {
      await pause(1_000)
      const before = (await gatewaysOf(path)).map(({ id }) => id)
      process.kill(await pid(), 'SIGTERM')
      await replaced(path, before)
    }
    await pause(1_000)
    await finish()
    await expectNoneFailed()
    expect(completed.length).toBeGreaterThan(100)
  },
  TEST_MS,
)

test(
  'a later version that only adds to the store replaces the workers under load; one that changes more leaves them',
  async () => {
    const { main, addMigration } = installation()
    const { path, pid, expectNoneFailed, completed, finish, log } = await load(
      WORKERS,
      startInstallation(main),
    )
    const old = (await gatewaysOf(path)).map(({ id }) => id)
    addMigration('9998-trial-expand', 'alter table call_logs add column trial integer')
    process.kill(await pid(), 'SIGHUP')
    await replaced(path, old, WORKERS, log)
    const trials = 'select cast(count(trial) as text) as count from call_logs'
    expect(await select(path, trials)).toEqual([{ count: '0' }])
    await pause(1_000)
    const now = (await gatewaysOf(path)).map(({ id }) => id)
    addMigration('9999-trial', 'drop table login_links')
    process.kill(await pid(), 'SIGHUP')
    await pause(3_000)
    expect((await gatewaysOf(path)).map(({ id }) => id)).toEqual(now)
    const count = completed.length
    await pause(500)
    expect(completed.length).toBeGreaterThan(count)
    await finish()
    await expectNoneFailed()
  },
  TEST_MS,
)

test.runIf(process.env['GW_PROGRAM'] !== undefined)(
  'workers of the version of GW_PROGRAM, and its store, are replaced by this one under load: no connection is refused, no call fails',
  async () => {
    const { main, upgrade } = installation()
    const { path, pid, expectNoneFailed, completed, finish, log } = await load(
      WORKERS,
      startInstallation(main),
      THIS_GW,
    )
    await pause(1_000)
    const old = (await gatewaysOf(path)).map(({ id }) => id)
    upgrade()
    process.kill(await pid(), 'SIGHUP')
    await replaced(path, old, WORKERS, log)
    const count = completed.length
    await expect.poll(() => completed.length).toBeGreaterThan(count + 50)
    const [migration] = await select<{ name: string }>(
      path,
      'select name from kysely_migration order by name desc limit 1',
    )
    expect(migration?.name).toBe(NEWEST_MIGRATION)
    await finish()
    await expectNoneFailed()
    tell(`upgraded to ${migration?.name}, calls ${completed.length}, failed 0, seed ${SEED}`)
  },
  TEST_MS,
)

test('the supervisor is killed: its workers end in order, and the store is free', async () => {
  const { dir, path, serve } = await scene()
  const { child } = await serve('--workers', String(WORKERS))
  await replaced(path, [])
  const pids = (await gatewaysOf(path)).map(({ pid }) => pid)
  expect(pids).toHaveLength(WORKERS)
  child.kill('SIGKILL')
  while ((await gatewaysOf(path)).length > 0) await pause(50)
  for (const pid of pids) while (isRunning(pid)) await pause(50)
  expect((await gw(dir, ['ledger', 'verify'])).exit).toBe(0)
})

test('a worker that cannot start ends the command with its error', async () => {
  const { dir, serve } = await scene()
  const { url } = await serve()
  const { host } = new URL(url)
  const second = await gw(dir, ['serve', '--gateway-only', '--workers', '2', '--listen', host])
  expect(second.exit).toBe(4)
})

/** Of an error of `fetch`: the peer ended the connection, before an answer. */
function isReset(error: unknown): boolean {
  const { code } = ((error as Error).cause ?? {}) as { readonly code?: string }
  return code === 'ECONNRESET' || code === 'UND_ERR_SOCKET'
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** Numbers for people, where a long run was asked for. */
function tell(line: string): void {
  if (process.env['GW_RESTARTS'] !== undefined) console.log(line)
}
