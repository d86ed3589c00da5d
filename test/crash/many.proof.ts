import { once } from 'node:events'
import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { onTestFinished, test } from 'vitest'
import { emptyDatabase, type TestDatabase } from '../support/postgres.ts'
import { type Load, limitsUnderLoad, type Running } from './limits-under-load.ts'
import { postgresBooks } from './postgres-books.ts'

const ROUNDS = Number(process.env['GW_KILLS'] ?? 3)
const GATEWAYS = 4

async function underLoad(disturb: (load: Load, database: TestDatabase) => Promise<void>): Promise<void> {
  const database = await emptyDatabase(onTestFinished)
  const report = await limitsUnderLoad(
    {
      gateways: GATEWAYS,
      calls: 50 * ROUNDS,
      storeUrl: database.url,
      readBooks: () => postgresBooks(database),
    },
    load => disturb(load, database),
  )
  // Numbers for people, if a long run was asked for.
  if (process.env['GW_KILLS'] !== undefined) console.log(JSON.stringify(report))
}

async function killOne({ random, gateways, serve }: Load): Promise<void> {
  const victim = Math.floor(random() * GATEWAYS)
  const { child } = gateways[victim] as Running
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
  await pause(random() < 0.5 ? 0 : 1_500)
  gateways[victim] = await serve(victim)
}

test(
  `${GATEWAYS} gateways on PostgreSQL, one killed each second or two, ${ROUNDS} times: no limit is passed, each answer has its bill`,
  () =>
    underLoad(async load => {
      for (let round = 0; round < ROUNDS; round++) {
        await pause(1_000 + load.random() * 1_000)
        await killOne(load)
      }
      await pause(2_000)
    }),
  90_000 + ROUNDS * 30_000,
)

test(
  `PostgreSQL under ${GATEWAYS} gateways is killed ${ROUNDS} times, and loses what it had not synced: the same`,
  () =>
    underLoad(async ({ random }, database) => {
      for (let round = 0; round < ROUNDS; round++) {
        await pause(1_000 + random() * 1_000)
        // The server ends all of its processes, and recovers from its log on the disk.
        const [row] = await database.query<{ pid: number }>(
          `select pid from pg_stat_activity where backend_type = 'checkpointer'`,
        )
        process.kill(row?.pid as number, 'SIGKILL')
        await pause(1_000)
      }
      await pause(6_000)
    }),
  90_000 + ROUNDS * 30_000,
)
