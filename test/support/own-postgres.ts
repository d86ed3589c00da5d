import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { freePort } from './free-port.ts'
import { ownedFolder } from './owned-process.ts'
import { findPrograms, initialise, type TestDatabase } from './postgres.ts'
import { POSTGRES_USER } from './postgres-user.ts'
import type { WhenOver } from './when-over.ts'

const START_MS = 20_000
const DATABASE = 'gw'

/** It keeps what it has acknowledged while the machine runs; without `synchronous_commit` a kill would lose its last moments. */
const SETTINGS = {
  fsync: 'off',
  synchronous_commit: 'on',
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '100',
  shared_buffers: '32MB',
  log_min_messages: 'fatal',
  wal_receiver_timeout: '5s',
  wal_retrieve_retry_interval: '100ms',
}

type Settings = Readonly<Record<string, string>>

/** A PostgreSQL server that one test starts, stops, kills, copies and promotes. */
export class OwnPostgres {
  readonly port: number
  readonly #programs: string
  readonly #data: string
  readonly #settings: Settings
  #server: ChildProcess | undefined

  /** A stopped server with an empty cluster. */
  static async create(whenOver: WhenOver, settings: Settings = {}): Promise<OwnPostgres> {
    const folder = ownedFolder('gw-postgres-')
    const programs = findPrograms(folder)
    const server = new OwnPostgres(programs, join(folder, 'primary'), await freePort(), settings)
    initialise(programs, server.#data)
    // Whatever ends this process, its servers end with it.
    const guard = spawn(
      '/bin/sh',
      [
        '-c',
        'read _; for f in "$0"/*/postmaster.pid; do kill -QUIT $(head -n 1 "$f"); done; sleep 1; rm -rf "$0"',
        folder,
      ],
      { detached: true, stdio: ['pipe', 'ignore', 'ignore'] },
    )
    whenOver(async () => {
      await server.kill()
      guard.kill()
      rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
    })
    return server
  }

  private constructor(programs: string, data: string, port: number, settings: Settings) {
    this.#programs = programs
    this.#data = data
    this.port = port
    this.#settings = settings
  }

  urlAt(port: number): string {
    return `postgres://postgres@127.0.0.1:${port}/${DATABASE}`
  }

  /** A standby with a copy of this server, which must be stopped. */
  async standby(whenOver: WhenOver): Promise<OwnPostgres> {
    const data = `${this.#data}-standby`
    const user = POSTGRES_USER
    // Links and owners are kept: `cp` under the user of the server.
    execFileSync('cp', ['-a', this.#data, data], { ...user, cwd: '/' })
    const standby = new OwnPostgres(this.#programs, data, await freePort(), {
      primary_conninfo: `host=127.0.0.1 port=${this.port} user=postgres application_name=standby`,
    })
    execFileSync('touch', [join(data, 'standby.signal')], { ...user, cwd: '/' })
    whenOver(() => standby.kill())
    return standby
  }

  /** Writes a file of its folder, as the user of the server. */
  place(name: string, content: string): void {
    const path = join(this.#data, name)
    writeFileSync(path, content, { mode: 0o600 })
    const { uid, gid } = POSTGRES_USER
    if (uid !== undefined && gid !== undefined) chownSync(path, uid, gid)
  }

  async start(): Promise<void> {
    const settings = Object.entries({ ...SETTINGS, ...this.#settings, port: String(this.port) })
    const server = spawn(
      join(this.#programs, 'postgres'),
      ['-D', this.#data, ...settings.flatMap(([name, value]) => ['-c', `${name}=${value}`])],
      {
        ...POSTGRES_USER,
        cwd: this.#data,
        env: { LC_ALL: 'C', TZ: 'UTC' },
        stdio: ['ignore', 'ignore', 'pipe'],
      },
    )
    let text = ''
    server.stderr?.on('data', (bytes: Buffer) => {
      text += bytes.toString()
    })
    this.#server = server
    const endMs = Date.now() + START_MS
    for (;;) {
      const client = this.#client('postgres')
      try {
        await client.connect()
        await client.end()
        return
      } catch (error) {
        if (Date.now() > endMs || server.exitCode !== null)
          throw new Error(`PostgreSQL did not start: ${text}`, { cause: error })
      }
      await pause(50)
    }
  }

  /** In order: what is committed is on the disk, and all connections are ended. */
  async stop(): Promise<void> {
    const server = this.#server
    if (!server) throw new Error('the server was not started')
    const exited = once(server, 'exit')
    server.kill('SIGINT')
    await exited
  }

  /** As the kernel would: no process of the server does anything any more. */
  async kill(): Promise<void> {
    const server = this.#server
    if (!server || server.exitCode !== null || server.signalCode !== null) return
    const exited = once(server, 'exit')
    this.signal('SIGKILL')
    await exited
  }

  /** To all of its processes. */
  signal(signal: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void {
    const pid = this.#server?.pid
    if (pid === undefined) throw new Error('the server was not started')
    // The parent first: it starts nothing new meanwhile.
    for (const one of [pid, ...childrenOf(pid)]) {
      try {
        process.kill(one, signal)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
      }
    }
  }

  /** In the database of the gateways, made by the first call. */
  async query<Row>(sql: string, parameters: readonly unknown[] = [], database = DATABASE): Promise<Row[]> {
    const client = this.#client(database)
    await client.connect()
    try {
      return (await client.query(sql, [...parameters])).rows as Row[]
    } finally {
      await client.end()
    }
  }

  #client(database: string): pg.Client {
    const ssl = this.#settings['ssl'] === 'on' && { rejectUnauthorized: false }
    return new pg.Client({ host: '127.0.0.1', port: this.port, user: 'postgres', database, ssl })
  }

  async createDatabase(): Promise<void> {
    await this.query(`create database ${DATABASE} template template0`, [], 'postgres')
  }

  get database(): TestDatabase {
    return {
      url: this.urlAt(this.port),
      query: (sql, parameters) => this.query(sql, parameters),
      execute: async sql => void (await this.query(sql)),
    }
  }
}

function childrenOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(Number)
    .filter(pid => {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
        return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === parent
      } catch {
        return false
      }
    })
}
