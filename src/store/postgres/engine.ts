import type { Kysely } from 'kysely'
import type { Effort, Engine, PlainSql } from '../engine.ts'
import type { Tables } from '../tables.ts'
import { ClockOffset } from './clock-offset.ts'
import { type PostgresClient, type PostgresConnections, WHOLE_STORE_MS } from './connection.ts'
import { HeadWatch, type WatchOptions } from './head-watch.ts'
import { NOW_MS } from './ledger/clock-of-store.ts'
import { lockStatement } from './locks.ts'

const SNAPSHOT = 'start transaction isolation level repeatable read read only'
/** Each statement sees what is committed by then: also those after the wait for the lock. */
const CHANGE = 'start transaction isolation level read committed'

/** How long the server may take to tell its head, so that a connection that is silent is soon replaced. */
const HEAD_MS = 5_000
/** The same for what a gateway writes of itself: longer than it may wait for the lock. */
const REPORT_MS = 10_000

/** A database of a PostgreSQL server. */
export class PostgresEngine implements Engine {
  readonly changes: HeadWatch
  readonly #connections: PostgresConnections
  readonly #clockOffset: ClockOffset

  constructor(connections: PostgresConnections, watch: WatchOptions) {
    this.changes = new HeadWatch({ ...watch, connections, readBare: work => this.#readBare(work, HEAD_MS) })
    this.#connections = connections
    this.#clockOffset = new ClockOffset(() => this.#serverNowMs())
  }

  read<T>(work: (db: Kysely<Tables>) => Promise<T>): Promise<T> {
    return this.#connections.use(client =>
      client.transaction(SNAPSHOT, async () => work(await client.kysely())),
    )
  }

  readBare<T>(work: (raw: PlainSql) => Promise<T>, effort?: Effort): Promise<T> {
    return this.#readBare(work, msOf(effort))
  }

  write<T>(work: (db: Kysely<Tables>, raw: PlainSql) => Promise<T>, effort?: Effort): Promise<T> {
    return this.#change(async client => work(await client.kysely(), plainSql(client)), msOf(effort))
  }

  writeBare<T>(work: (raw: PlainSql) => T | Promise<T>): Promise<T> {
    return this.#change(async client => work(plainSql(client)), REPORT_MS)
  }

  clockOffMs(): Promise<number> {
    return this.#clockOffset.ms()
  }

  releaseSpace(): void {
    // PostgreSQL does that by itself.
  }

  async close(): Promise<void> {
    await this.changes.end()
    await this.#connections.end()
  }

  async #serverNowMs(): Promise<number> {
    const { rows } = await this.#connections.use(client =>
      client.query<{ now_ms: number }>(`select ${NOW_MS} as now_ms`),
    )
    return rows[0]?.now_ms ?? 0
  }

  #readBare<T>(work: (raw: PlainSql) => Promise<T>, queryMs?: number): Promise<T> {
    return this.#connections.use(
      client => client.transaction(SNAPSHOT, () => work(plainSql(client))),
      queryMs,
    )
  }

  #change<T>(work: (client: PostgresClient) => Promise<T>, queryMs?: number): Promise<T> {
    return this.#connections.use(
      client =>
        client.transaction(CHANGE, async () => {
          await client.query(lockStatement('writes'))
          return work(client)
        }),
      queryMs,
    )
  }
}

/** Undefined: the usual time. */
function msOf(effort: Effort = 'usual'): number | undefined {
  return effort === 'usual' ? undefined : WHOLE_STORE_MS
}

/** @param client in a transaction */
function plainSql(client: PostgresClient): PlainSql {
  return {
    prepare(sql) {
      const text = withNumbers(sql)
      return {
        all: async (...parameters) => (await client.query(text, parameters)).rows,
        get: async (...parameters) => (await client.query(text, parameters)).rows[0],
        run: async (...parameters) => ({ changes: (await client.query(text, parameters)).rowCount }),
      }
    },
  }
}

/** `?` → `$1`: no statement has a question mark in a text. */
function withNumbers(sql: string): string {
  let count = 0
  return sql.replace(/\?/g, () => `$${++count}`)
}
