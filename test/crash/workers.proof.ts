import { once } from 'node:events'
import { Agent } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { json, sse } from '../support/answers.ts'
import { call, seeded } from './clients.ts'
import { EVENTS, EXACT_NANO, gw, isComplete, PATH, SECRET, scene, USAGE } from './scene.ts'
import { numberedBody, readBooks } from './served.ts'

const RESTARTS = Number(process.env['GW_RESTARTS'] ?? 4)
const WORKERS = 2
const CLIENTS = 12
const SEED = Number(process.env['GW_SEED'] ?? Date.now() % 1_000_000)
const TEST_MS = 90_000 + RESTARTS * 20_000

/** The gateways that report to the store, in the order of their start. */
function gatewaysOf(path: string): { id: string; pid: number; supervisor: number }[] {
  const raw = new Database(path, { readonly: true })
  try {
    return raw
      .prepare('select id, pid, supervisor_pid as supervisor from gateways order by started_at_ms')
      .all() as { id: string; pid: number; supervisor: number }[]
  } finally {
    raw.close()
  }
}

/** Resolves when the workers of the store are so many, and others than before. */
async function replaced(path: string, before: readonly string[], workers = WORKERS): Promise<void> {
  for (;;) {
    const ids = gatewaysOf(path).map(({ id }) => id)
    if (ids.length === workers && !ids.some(id => before.includes(id))) return
    await pause(50)
  }
}

/** Calls all the time, as many at once, over connections that stay and new ones, streamed and not. */
async function load(workers = WORKERS) {
  const { dir, upstream, path, serve } = await scene()
  const random = seeded(SEED)
  upstream.answer(async exchange => {
    const { stream } = exchange.request.json() as { stream: boolean }
    const moment = () => pause(random() < 0.1 ? 1_500 : random() * 20)
    const answer = stream
      ? sse([EVENTS[0], moment(), EVENTS[1], EVENTS[2]])
      : json({ choices: [], usage: USAGE })
    if (!stream) await moment()
    await answer(exchange)
  })
  const { child, url } = await serve('--workers', String(workers))
  await replaced(path, [], workers)
  onTestFinished(() => void child.kill('SIGTERM'))
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
      const seen = await call(url, { agent, path: PATH, body, secret: SECRET })
      if (isComplete(seen, stream)) completed.push(seen.requestId ?? '')
      else failed.push({ number, ...seen })
    }
  }
  const clients = Array.from({ length: CLIENTS }, client)
  /** Ends the calls and the gateway, and checks the bills. */
  const finish = async () => {
    state.isOver = true
    await Promise.all(clients)
    const exited = once(child, 'exit')
    child.kill('SIGTERM')
    expect(await exited).toEqual([0, null])
    expect((await gw(dir, ['ledger', 'verify'])).exit).toBe(0)
    const { booked, open } = readBooks(path)
    expect(open).toBe(0)
    const lost = completed.filter(id => booked.get(id)?.ends[0]?.amountNano !== EXACT_NANO)
    expect(lost, `seed ${SEED}: completed, but not billed`).toEqual([])
    expect(gatewaysOf(path)).toEqual([])
    return { completed, failed }
  }
  return { dir, path, child, failed, completed, finish }
}

test(
  `${RESTARTS} restarts of ${WORKERS} workers under load: no connection is refused, no call fails, no stream is cut`,
  async () => {
    const { path, child, failed, completed, finish } = await load()
    for (let restart = 0; restart < RESTARTS; restart++) {
      await pause(500)
      const before = gatewaysOf(path)
      expect(new Set(before.map(({ supervisor }) => supervisor))).toEqual(new Set([child.pid]))
      child.kill('SIGHUP')
      await replaced(
        path,
        before.map(({ id }) => id),
      )
      expect(failed, `seed ${SEED}, restart ${restart}`).toEqual([])
    }
    await finish()
    expect(failed, `seed ${SEED}`).toEqual([])
    expect(completed.length).toBeGreaterThan(RESTARTS * 20)
    tell(`restarts ${RESTARTS}, calls ${completed.length}, failed 0, seed ${SEED}`)
  },
  TEST_MS,
)

test(
  'a worker that is killed is replaced, its calls are settled, and the other one serves meanwhile',
  async () => {
    const { path, failed, completed, finish } = await load()
    await pause(1_000)
    const [victim] = gatewaysOf(path)
    if (!victim) throw new Error('no worker serves')
    process.kill(victim.pid, 'SIGKILL')
    const count = completed.length
    await pause(1_000)
    expect(completed.length).toBeGreaterThan(count)
    for (;;) {
      const ids = gatewaysOf(path).map(({ id }) => id)
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
    const [before] = gatewaysOf(path)
    const restarted = await gw(dir, ['restart'])
    expect(restarted).toEqual({ exit: 0, stdout: expect.stringContaining('1 gateway') })
    expect(gatewaysOf(path).map(({ id }) => id)).not.toContain(before?.id)
    await finish()
    expect(failed).toEqual([])
  },
  TEST_MS,
)

test('the supervisor is killed: its workers end in order, and the store is free', async () => {
  const { dir, path, serve } = await scene()
  const { child } = await serve('--workers', String(WORKERS))
  await replaced(path, [])
  const pids = gatewaysOf(path).map(({ pid }) => pid)
  expect(pids).toHaveLength(WORKERS)
  child.kill('SIGKILL')
  while (gatewaysOf(path).length > 0) await pause(50)
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
