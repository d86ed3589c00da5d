import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { nameOf } from '../../src/store/ledger/columns.ts'
import { type Books, type Load, limitsUnderLoad, type Running, SEED } from './limits-under-load.ts'
import { readBooks } from './served.ts'

const ROUNDS = Number(process.env['GW_KILLS'] ?? 4)
const STOPS = Number(process.env['GW_STOPS'] ?? 2)
const STOP_MS = Number(process.env['GW_STOP_MS'] ?? 3_000)
const GATEWAYS = 3

const underLoad = (disturb: (load: Load) => Promise<void>) =>
  limitsUnderLoad({ gateways: GATEWAYS, calls: 50 * ROUNDS, readBooks: books }, disturb)

test(
  `${GATEWAYS} gateways on one file, one killed each second, ${ROUNDS} times: no limit is passed, each answer has its bill`,
  async () => {
    const report = await underLoad(async ({ random, gateways, serve }) => {
      for (let round = 0; round < ROUNDS; round++) {
        await pause(1_000 + random() * 1_000)
        const victim = Math.floor(random() * GATEWAYS)
        const { child } = gateways[victim] as Running
        const exited = once(child, 'exit')
        child.kill('SIGKILL')
        await exited
        await pause(random() < 0.5 ? 0 : 1_500)
        gateways[victim] = await serve(victim)
      }
      await pause(2_000)
    })
    tell(report)
  },
  60_000 + ROUNDS * 20_000,
)

test(
  `one of ${GATEWAYS} gateways is stopped for ${STOP_MS / 1_000} s, ${STOPS} times, also while it writes the store: the same`,
  async () => {
    const stops: { hasLock: boolean; answered: number; completed: number }[] = []
    const report = await underLoad(async ({ path, random, gateways, completed, callOnce }) => {
      for (let stop = 0; stop < STOPS; stop++) {
        await pause(1_000)
        const stopped = gateways[Math.floor(random() * GATEWAYS)] as Running
        const hasLock = await stopIt(stopped, path, stop % 2 === 0)
        const before = completed()
        // New calls: those of the load may all wait for the stopped one.
        let answered = 0
        const calls = gateways
          .filter(gateway => gateway !== stopped)
          .map(async gateway => {
            if (await callOnce(gateway)) answered++
          })
        await pause(STOP_MS)
        stops.push({ hasLock, answered, completed: completed() - before })
        stopped.child.kill('SIGCONT')
        stopped.isStopped = false
        await Promise.all(calls)
      }
      await pause(2_000)
    })
    // The others go on, from their shares and journals.
    for (const { answered } of stops) expect(answered, `seed ${SEED}`).toBe(GATEWAYS - 1)
    expect(stops.some(({ hasLock }) => hasLock)).toBe(true)
    tell({ ...report, stops })
  },
  120_000 + STOPS * (STOP_MS + 20_000),
)

/** @param isInCommit Tries until it is in the middle of a commit. @returns whether it is: the others cannot write the store then. */
async function stopIt(gateway: Running, path: string, isInCommit: boolean): Promise<boolean> {
  const untilMs = performance.now() + 10_000
  for (;;) {
    gateway.isStopped = true
    gateway.child.kill('SIGSTOP')
    const hasLock = await isLocked(path)
    if (hasLock || !isInCommit || performance.now() > untilMs) return hasLock
    gateway.child.kill('SIGCONT')
    gateway.isStopped = false
    await pause(1 + Math.random() * 20)
  }
}

/** Whether the store cannot be written for a quarter of a second: longer than any commit takes. */
async function isLocked(path: string): Promise<boolean> {
  const raw = new Database(path, { timeout: 0 })
  try {
    for (let look = 0; look < 25; look++) {
      try {
        raw.exec('begin immediate; rollback')
        return false
      } catch (error) {
        if ((error as { code?: string }).code !== 'SQLITE_BUSY') throw error
      }
      await pause(10)
    }
    return true
  } finally {
    raw.close()
  }
}

/** What the store has in the end: charges, usage by key, the admissions of the rated key, and what is left of shares. */
async function books(path: string): Promise<Books> {
  const { booked, open } = await readBooks(path)
  const charges = [...booked].flatMap(([id, { ends }]) => {
    const [end] = ends
    return end ? [[id, { nano: end.amountNano, flags: end.flags }] as const] : []
  })
  const raw = new Database(path, { readonly: true })
  try {
    const keys = raw
      .prepare(
        `select ${nameOf('key_id')} as key, sum(amount_nano) as nano, sum(input_tokens + output_tokens) as tokens
        from ledger where kind = 0 group by 1`,
      )
      .all() as { key: string; nano: number; tokens: number }[]
    const rateTimes = raw
      .prepare(
        `select at_ms - open_ms from ledger where kind <= 1 and ${nameOf('key_id')} = 'rate' order by 1`,
      )
      .pluck()
      .all() as number[]
    const leftShares = raw
      .prepare(
        `select (select count(*) from instances) as instances, (select count(*) from shares) as shares,
          (select count(*) from scopes where leased <> '0') as notReturned`,
      )
      .get()
    return {
      charges: new Map(charges),
      open,
      keys: new Map(keys.map(row => [row.key, row])),
      rateTimes,
      leftShares,
    }
  } finally {
    raw.close()
  }
}

/** Numbers for people, where a long run was asked for. */
function tell(report: object): void {
  if (process.env['GW_KILLS'] !== undefined) console.log(JSON.stringify(report))
}
