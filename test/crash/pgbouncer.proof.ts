import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync } from 'node:fs'
import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { freePort } from '../support/free-port.ts'
import { emptyDatabase, POSTGRES_USER } from '../support/postgres.ts'
import { tempDir } from '../support/temp-dir.ts'
import { limitsUnderLoad, type Running } from './limits-under-load.ts'
import { postgresBooks } from './postgres-books.ts'

/** Debian's package `pgbouncer`; skipped where it is not installed. */
const PGBOUNCER = '/usr/sbin/pgbouncer'
const ROUNDS = Number(process.env['GW_KILLS'] ?? 1)

test.runIf(isInstalled())(
  'behind pgbouncer in transaction mode one of 3 gateways is killed, with few connections to the server: no limit is passed, each answer has its bill',
  async () => {
    const database = await emptyDatabase(onTestFinished)
    const port = await pgbouncer(new URL(database.url))
    const url = new URL(database.url)
    url.port = String(port)
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

function isInstalled(): boolean {
  try {
    execFileSync(PGBOUNCER, ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    console.warn('pgbouncer is missing: what is behind it is not tested')
    return false
  }
}

/** @returns the port on which it has the databases of a server. */
async function pgbouncer(server: URL): Promise<number> {
  const dir = tempDir(onTestFinished)
  const port = await freePort()
  const file = dir.write(
    'pgbouncer.ini',
    `[databases]
* = host=127.0.0.1 port=${server.port} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 6
max_client_conn = 200
`,
  )
  const { uid, gid } = POSTGRES_USER
  chmodSync(dir.path, 0o755)
  if (uid !== undefined && gid !== undefined) chownSync(file, uid, gid)
  const child = spawn(PGBOUNCER, ['-q', file], {
    ...POSTGRES_USER,
    cwd: '/',
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let text = ''
  child.stderr.on('data', (bytes: Buffer) => {
    text += bytes.toString()
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const url = new URL(server)
  url.port = String(port)
  await expect
    .poll(
      async () => {
        expect(child.exitCode, text).toBe(null)
        const client = new pg.Client(url.href)
        try {
          await client.connect()
          await client.end()
          return true
        } catch {
          return false
        }
      },
      { timeout: 10_000 },
    )
    .toBe(true)
  return port
}
