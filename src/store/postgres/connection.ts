import type { Kysely, PostgresPoolClient } from 'kysely'
import type pg from 'pg'
import type { Tables } from '../tables.ts'
import { nameOfAddress, type PostgresAddress } from './address.ts'
import { isConnectionLost, isSilence, postgresFault } from './faults.ts'

const CONNECT_MS = 5_000
/** A server that does not answer for so long is away. */
const QUERY_MS = 60_000
/** A statement over all rows of a store. If the server is gone, the keep-alive of the connection ends it. */
export const WHOLE_STORE_MS = 12 * 3_600_000
const IDLE_MS = 30_000
/** How long a server may take to answer a goodbye. */
const FAREWELL_MS = 1_000
const MAX_CONNECTIONS = 4

/**
 * Connections to a database. Nothing of a session outlives a transaction (no named statements, no session locks, no
 * `SET`), so that pgbouncer in transaction mode may stand between.
 */
export class PostgresConnections {
  readonly address: PostgresAddress
  /** For messages. */
  readonly name: string
  readonly #pool: pg.Pool
  readonly #all = new Set<pg.PoolClient>()
  readonly #idle = new Set<pg.PoolClient>()

  /** Opens no connection yet. */
  static async open(
    address: PostgresAddress,
    { max = MAX_CONNECTIONS }: { readonly max?: number } = {},
  ): Promise<PostgresConnections> {
    const driver = await loadDriver()
    const config: pg.PoolConfig = {
      ...clientConfig(driver, address),
      max,
      idleTimeoutMillis: IDLE_MS,
      allowExitOnIdle: true,
    }
    return new PostgresConnections(address, new driver.Pool(config))
  }

  private constructor(address: PostgresAddress, pool: pg.Pool) {
    this.address = address
    this.name = nameOfAddress(address)
    this.#pool = pool
    // An idle connection that ends is replaced by the next use, which also reports what is wrong.
    pool.on('error', () => undefined)
    pool.on('connect', client => {
      this.#all.add(client)
      client.on('end', () => this.#all.delete(client))
    })
    pool.on('acquire', client => this.#idle.delete(client))
    pool.on('release', (_error, client) => this.#idle.add(client))
    pool.on('remove', client => this.#idle.delete(client))
  }

  /**
   * A connection of its own until `release`. Throws errors of `pg`: see {@link convert}.
   * @param queryMs How long a statement may take.
   */
  async connect(queryMs: number = QUERY_MS): Promise<PostgresClient> {
    return new PostgresClient(await this.#pool.connect(), queryMs, () => this.#discardIdle())
  }

  /** Runs `work` on a connection, with errors for the operator. */
  use<T>(work: (client: PostgresClient) => Promise<T>, queryMs?: number): Promise<T> {
    return this.convert(async () => {
      const client = await this.connect(queryMs)
      try {
        return await work(client)
      } finally {
        client.release()
      }
    })
  }

  /** Runs `work`; converts errors of the server and of the way to it into errors for the operator. */
  async convert<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      throw postgresFault(error, this.name)
    }
  }

  /** Ends when the connections in use have been released. */
  async end(): Promise<void> {
    if (this.#pool.ending) return
    await this.#pool.end()
    for (const client of this.#all) destroyLater(client)
  }

  /** The network has lost one connection without an error: the next user of each other one would wait in vain as well. */
  #discardIdle(): void {
    for (const client of this.#idle) destroy(client)
  }
}

interface QueryResult<Row> {
  /** Such as `SELECT`. */
  readonly command: string
  readonly rowCount: number
  readonly rows: Row[]
}

/** One connection of {@link PostgresConnections}; it is closed at its release if its state is unknown by then. */
export class PostgresClient {
  readonly #client: pg.PoolClient
  readonly #queryMs: number
  readonly #onSilence: () => void
  #isLost = false

  readonly #lose = () => {
    this.#isLost = true
  }

  /** @param onSilence The server did not answer in time. */
  constructor(client: pg.PoolClient, queryMs: number, onSilence: () => void) {
    this.#client = client
    this.#queryMs = queryMs
    this.#onSilence = onSilence
    // The pool hears only of connections that are not in use, and an error without a listener ends the process.
    client.on('error', this.#lose)
  }

  /** One statement, with `$1` …; several only without parameters: then the result of the last one. */
  async query<Row>(sql: string, parameters: readonly unknown[] = []): Promise<QueryResult<Row>> {
    try {
      // `pg` has one name for it in all places but its types.
      const timed: pg.QueryConfig & { query_timeout: number } = {
        text: sql,
        query_timeout: this.#queryMs,
        ...(parameters.length > 0 && { values: [...parameters] }),
      }
      const results = (await this.#client.query(timed)) as pg.QueryResult | pg.QueryResult[]
      const result = Array.isArray(results) ? (results.at(-1) as pg.QueryResult) : results
      return {
        command: result.command,
        rowCount: result.rowCount ?? 0,
        rows: result.rows as Row[],
      }
    } catch (error) {
      this.#isLost ||= isConnectionLost(error)
      if (isSilence(error)) this.#onSilence()
      throw error
    }
  }

  /** Runs `work` in a transaction; rolls back if it throws. @param begin such as `start transaction read only` */
  async transaction<T>(begin: string, work: () => Promise<T>): Promise<T> {
    await this.query(begin)
    try {
      const result = await work()
      const { command } = await this.query('commit')
      // An error of a statement that `work` has caught.
      if (command === 'ROLLBACK')
        throw new Error('the transaction was rolled back: one of its statements failed')
      return result
    } catch (error) {
      // A connection that is lost has rolled back by itself.
      if (!this.#isLost) await this.query('rollback')
      throw error
    }
  }

  /** A query builder on this connection. */
  async kysely(): Promise<Kysely<Tables>> {
    const { HandleEmptyInListsPlugin, Kysely, PostgresDialect, replaceWithNoncontingentExpression } =
      await import('kysely')
    const pool = { connect: async () => this.#lent(), end: async () => undefined, options: {} }
    return new Kysely<Tables>({
      dialect: new PostgresDialect({ pool }),
      // `in ()` is SQL for SQLite only.
      plugins: [new HandleEmptyInListsPlugin({ strategy: replaceWithNoncontingentExpression })],
    })
  }

  release(): void {
    this.#client.off('error', this.#lose)
    if (this.#isLost) destroy(this.#client)
    this.#client.release(this.#isLost)
  }

  /** This connection as Kysely sees it: it does not end with a statement of Kysely. */
  #lent(): PostgresPoolClient {
    const query = (sql: string, parameters: readonly unknown[]) => this.query(sql, parameters)
    return { query, release: () => undefined } as PostgresPoolClient
  }
}

/** Ends a connection. A server that is away does not answer the goodbye. */
export async function farewell(client: pg.Client | undefined): Promise<void> {
  if (!client) return
  destroyLater(client)
  // It may be lost already.
  await client.end().catch(() => undefined)
}

export function destroy(client: pg.ClientBase | undefined): void {
  if (client && 'connection' in client) (client as pg.Client).connection.stream.destroy()
}

function destroyLater(client: pg.ClientBase): void {
  const timer = setTimeout(() => destroy(client), FAREWELL_MS)
  timer.unref()
  client.on('end', () => clearTimeout(timer))
}

type Driver = typeof pg
type TypeId = Parameters<Driver['types']['getTypeParser']>[0]

/** Loaded when it is needed: a store in a file needs none of it. */
export async function loadDriver(): Promise<Driver> {
  return (await import('pg')).default
}

/** The settings of one connection, for a pool or a `Client` of `pg`. */
export function clientConfig(driver: Driver, address: PostgresAddress): pg.ClientConfig {
  const { host, port, database, user, password } = address
  return {
    host,
    port,
    database,
    ...(user !== undefined && { user }),
    ...(password !== undefined && { password }),
    ssl: tlsOptions(address),
    application_name: 'gw',
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: QUERY_MS,
    keepAlive: true,
    types: { getTypeParser: type => parserOf(driver, type) },
  }
}

function tlsOptions({ host, tls }: PostgresAddress): pg.ClientConfig['ssl'] {
  const { mode, authorities, certificate, key } = tls
  if (mode === 'disable') return false
  return {
    // Verified even if it is an IP address, for which `pg` gives TLS no name.
    host,
    rejectUnauthorized: mode !== 'require',
    ...(mode === 'verify-ca' && { checkServerIdentity: () => undefined }),
    ...(authorities !== undefined && { ca: authorities }),
    ...(certificate !== undefined && { cert: certificate }),
    ...(key !== undefined && { key }),
  }
}

/**
 * Counts and times are numbers, as in SQLite; an amount of money is cast to text by the query, so that no digit is
 * lost. JSON stays text.
 */
function parserOf({ types }: Driver, type: TypeId): (text: string) => unknown {
  const { INT8, NUMERIC, JSON: JSON_TEXT } = types.builtins
  if (type === INT8 || type === NUMERIC) return toNumber
  if (type === JSON_TEXT) return text => text
  return types.getTypeParser(type, 'text')
}

function toNumber(text: string): number {
  const number = Number(text)
  if (!text.includes('.') && !Number.isSafeInteger(number))
    throw new RangeError(`${text} is not a safe integer: the query must cast it to text`)
  return number
}
