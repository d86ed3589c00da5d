import { type ChildProcess, execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { freePort } from './free-port.ts'
import { ownedFolder, saidIn, startOwned } from './owned-process.ts'

/** Debian's package `pgbouncer`. */
const PGBOUNCER = '/usr/sbin/pgbouncer'
const START_MS = 10_000

/** A running pgbouncer. */
export interface Pooler {
  /** It has all databases of the server. */
  readonly port: number
  /** See `startOwned`. */
  readonly shell: ChildProcess
  end(): void
}

/** Whether pgbouncer is installed. */
export function hasPooler(): boolean {
  try {
    execFileSync(PGBOUNCER, ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Starts pgbouncer in transaction mode before a server, with few connections to each database; ends with this process. */
export async function startPooler(serverPort: number): Promise<Pooler> {
  const folder = ownedFolder('gw-pooler-')
  const port = await freePort()
  writeFileSync(
    join(folder, 'pgbouncer.ini'),
    `[databases]
* = host=127.0.0.1 port=${serverPort} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 6
max_client_conn = 1000
server_idle_timeout = 2
`,
  )
  const shell = startOwned(folder, [PGBOUNCER, '-q', 'pgbouncer.ini'])
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  for (const endMs = Date.now() + START_MS; ; await pause(50)) {
    const client = new pg.Client(url)
    try {
      await client.connect()
      await client.end()
      return { port, shell, end: () => void shell.stdin?.end() }
    } catch (error) {
      if (Date.now() > endMs) throw new Error(`pgbouncer did not start: ${saidIn(folder)}`, { cause: error })
    }
  }
}
