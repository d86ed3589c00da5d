import { once } from 'node:events'
import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { hasPooler, startPooler } from '../support/pooler.ts'
import { emptyDatabase } from '../support/postgres.ts'
import { limitsUnderLoad, type Running } from './limits-under-load.ts'
import { postgresBooks } from './postgres-books.ts'

const ROUNDS = Number(process.env['GW_KILLS'] ?? 1)
const isInstalled = hasPooler()
if (!isInstalled) console.warn('pgbouncer is missing: what is behind it is not tested')

test.runIf(isInstalled)(
  'behind pgbouncer in transaction mode one of 3 gateways is killed, with few connections to the server: no limit is passed, each answer has its bill',
  async () => {
    const database = await emptyDatabase(onTestFinished)
    const url = new URL(database.url)
    const pooler = await startPooler(Number(url.port))
    onTestFinished(() => pooler.end())
    url.port = String(pooler.port)
    await limitsUnderLoad(
      {
        gateways: 3,
        calls: 50 * ROUNDS,
        least: 50,
        storeUrl: url.href,
        gateway: () => ({ environment: { GW_STORE_DIRECT: database.url } }),
        readBooks: () => postgresBooks(database),
      },
      async ({ random, gateways, serve }) => {
        for (let round = 0; round < ROUNDS; round++) {
          await pause(1_000 + random() * 1_000)
          const victim = Math.floor(random() * gateways.length)
          const { child } = gateways[victim] as Running
          const exited = once(child, 'exit')
          child.kill('SIGKILL')
          await exited
          gateways[victim] = await serve(victim)
        }
        await pause(1_500)
        // Notifications come from the server itself: pgbouncer delivers none.
        const listening = await database.query<{ count: number }>(
          `select count(*)::int as count from pg_stat_activity where query = 'listen gw_head'`,
        )
        expect(listening).toEqual([{ count: gateways.length }])
      },
    )
  },
  90_000 + ROUNDS * 30_000,
)
