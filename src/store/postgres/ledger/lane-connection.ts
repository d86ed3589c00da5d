import { createHash } from 'node:crypto'
import type pg from 'pg'
import type { PostgresAddress } from '../address.ts'
import { clientConfig, destroy, farewell, loadDriver } from '../connection.ts'
import { isConnectionLost } from '../faults.ts'

/** What a statement returned; the values in the order of its columns. */
export interface Result {
  readonly rows: readonly (readonly unknown[])[]
  /** How many rows it has inserted, changed or deleted. */
  readonly count: number
}

export type Value = string | number | bigint | Buffer | null

/** Where statements run: each is a transaction of its own. */
export interface Database {
  query(text: string, values?: readonly Value[]): Promise<Result>
}

/** How long a server may take for a statement before it counts as away. */
const STATEMENT_MS = 5_000
/** A call waits for a connection that was lost; nothing but the start of the gateway waits for the first one. */
const CONNECT_MS = 2_000
const FIRST_CONNECT_MS = 10_000

/** A text that runs so often is kept by the server. */
const KEPT_FROM_RUN = 3
/** Of texts. They are few, unless values are part of them. */
const MAX_COUNTED = 200
/**
 * A pooler gave the session to others: invalid_sql_statement_name, duplicate_prepared_statement. Or the tables are those of
 * another version by now: feature_not_supported. Nothing was carried out.
 */
const NOT_KEPT = new Set(['26000', '42P05', '0A000'])

/**
 * A connection of the ledger, opened when it is used, and again after it was lost. One statement at a time. Nothing depends on a
 * session, so that pgbouncer may stand between; statements that run again and again are prepared as long as that works.
 */
export class LaneConnection implements Database {
  readonly #address: PostgresAddress
  readonly #statementMs: number
  #client: pg.Client | undefined
  /** One that is not open yet. */
  #connecting: pg.Client | undefined
  #isClosed = false
  #last: Promise<void> = Promise.resolve()
  /** Grows when an earlier connection was lost: what was not synced may be lost with it. */
  #opened = 0
  /** Of statements with parameters: how often each ran, and its name from when it is kept. */
  readonly #runs = new Map<string, { count: number; name?: string }>()
  #keepsStatements = true

  constructor(address: PostgresAddress, statementMs = STATEMENT_MS) {
    this.#address = address
    this.#statementMs = statementMs
  }

  /** @throws errors of `pg`; after one that says nothing of the statement, its effect is unknown. */
  query(text: string, values?: readonly Value[]): Promise<Result> {
    const result = this.#last.then(() => this.#query(text, values))
    this.#last = result.then(ignore, ignore)
    return result
  }

  /** Opens the connection if there is none. Resolves with how many there were: if it has grown, what was not synced may be lost. */
  connect(): Promise<number> {
    const opened = this.#last.then(() => this.#connected()).then(() => this.#opened)
    this.#last = opened.then(ignore, ignore)
    return opened
  }

  async #query(text: string, values?: readonly Value[]): Promise<Result> {
    const client = await this.#connected()
    const name = values && this.#nameOf(text)
    try {
      const result = await client.query({
        text,
        rowMode: 'array',
        ...(values && { values: [...values] }),
        ...(name !== undefined && { name }),
      })
      // Several statements have several results; the last one counts.
      const last = (Array.isArray(result) ? result.at(-1) : result) as pg.QueryArrayResult
      return { rows: last.rows, count: last.rowCount ?? 0 }
    } catch (error) {
      if (name !== undefined && NOT_KEPT.has((error as pg.DatabaseError).code ?? '')) {
        this.#keepsStatements = false
        return this.#query(text, values)
      }
      if (isConnectionLost(error)) this.#drop()
      throw error
    }
  }

  /** The same for equal texts everywhere: of a session of a pooler, it names the same statement. */
  #nameOf(text: string): string | undefined {
    if (!this.#keepsStatements) return undefined
    let run = this.#runs.get(text)
    if (!run) {
      if (this.#runs.size >= MAX_COUNTED) return undefined
      run = { count: 0 }
      this.#runs.set(text, run)
    }
    if (run.name === undefined && ++run.count >= KEPT_FROM_RUN)
      run.name = `gw_${createHash('sha256').update(text).digest('hex').slice(0, 32)}`
    return run.name
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const client = this.#client
    this.#client = undefined
    destroy(this.#connecting)
    await farewell(client)
  }

  #drop(): void {
    destroy(this.#client)
    this.#client = undefined
  }

  async #connected(): Promise<pg.Client> {
    if (this.#client) return this.#client
    const driver = await loadDriver()
    if (this.#isClosed) throw new Error('the connection is closed')
    const client = new driver.Client({
      ...clientConfig(driver, this.#address),
      connectionTimeoutMillis: this.#opened === 0 ? FIRST_CONNECT_MS : CONNECT_MS,
      query_timeout: this.#statementMs,
    })
    // A connection that ends between two statements: the next one opens another.
    const drop = () => {
      if (this.#client === client) this.#drop()
    }
    client.on('error', drop)
    client.on('end', drop)
    this.#connecting = client
    try {
      await client.connect()
    } catch (error) {
      destroy(client)
      throw error
    } finally {
      this.#connecting = undefined
    }
    if (this.#isClosed) {
      destroy(client)
      throw new Error('the connection is closed')
    }
    this.#client = client
    this.#opened += 1
    return client
  }
}

function ignore(): void {}
