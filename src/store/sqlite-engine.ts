import type Database from 'better-sqlite3'
import type { Kysely } from 'kysely'
import type { ServedState } from '../schema/state.ts'
import type { Connection } from './connection.ts'
import { type ChangeDetector, type Engine, isSameHead, type PlainSql } from './engine.ts'
import { storeFault } from './faults.ts'
import { immediately, readBare, readConsistently, type Session, writeBare } from './session.ts'
import type { Tables } from './tables.ts'
import type { Head } from './types.ts'

/** Enough to free the pages of a batch of deletions, too few to block the thread for long. */
const VACUUM_PAGES = 50

/** A SQLite file, on one connection. */
export class SqliteEngine implements Engine<Database.Database> {
  readonly changes: ChangeDetector
  readonly #connection: Connection

  constructor(connection: Connection) {
    this.changes = new DataVersion(connection)
    this.#connection = connection
  }

  read<T>(work: (db: Kysely<Tables>) => Promise<T>): Promise<T> {
    return this.#connection.use(session => readConsistently(session, work))
  }

  readBare<T>(work: (raw: Database.Database) => Promise<T>): Promise<T> {
    return this.#connection.use(session => readBare(session, () => work(session.raw)))
  }

  write<T>(work: (db: Kysely<Tables>, raw: Database.Database) => Promise<T>): Promise<T> {
    return this.#connection.use(session => immediately(session, db => work(db, session.raw)))
  }

  writeBare<T>(work: (raw: Database.Database) => T | Promise<T>): Promise<T> {
    return this.#connection.use(session => writeBare(session, async () => work(session.raw)))
  }

  /** All gateways are on one machine. */
  clockOffMs(): Promise<number> {
    return Promise.resolve(0)
  }

  releaseSpace(raw: Database.Database): void {
    raw.pragma(`incremental_vacuum(${VACUUM_PAGES})`)
  }

  close(): Promise<void> {
    return this.#connection.close()
  }
}

/** Compares heads only if `PRAGMA data_version` has changed: that costs microseconds. */
class DataVersion implements ChangeDetector {
  readonly #connection: Connection
  /** Per session; prepared once, because it runs many times a second. */
  readonly #statements = new WeakMap<Session, Database.Statement<[], number>>()

  /** The session of the last `readState`: a different session means a different file. */
  #readFrom: Session | undefined
  /** At the last comparison of the head: it changes exactly with commits of other connections. */
  #version: number | undefined
  /** The head of the last `readState`, updated after own commits. */
  #seen: Head | undefined
  #isBehind = true

  constructor(connection: Connection) {
    this.#connection = connection
  }

  readState(read: (raw: PlainSql) => Promise<ServedState>): Promise<ServedState> {
    return this.#connection.use(session =>
      readBare(session, async () => {
        // Read before the rest: the next `changed` then notices a commit in between.
        const version = this.#versionOf(session)
        const state = await read(session.raw)
        this.#readFrom = session
        this.#version = version
        this.#seen = { revision: state.revision, keyVersion: state.keyVersion }
        this.#isBehind = false
        return state
      }),
    )
  }

  changed(): boolean {
    try {
      const session = this.#connection.peek()
      if (session === undefined || session !== this.#readFrom) return true
      const version = this.#versionOf(session)
      if (version !== this.#version) {
        this.#version = version
        this.#isBehind = !isSameHead(this.#seen, headOf(session))
      }
      return this.#isBehind
    } catch (error) {
      throw storeFault(error, this.#connection.path)
    }
  }

  recordOwnCommit(from: Head, to: Head): void {
    if (isSameHead(this.#seen, from)) this.#seen = to
  }

  #versionOf(session: Session): number | undefined {
    let statement = this.#statements.get(session)
    if (!statement) {
      statement = session.raw.prepare<[], number>('pragma data_version').pluck()
      this.#statements.set(session, statement)
    }
    return statement.get()
  }
}

function headOf({ raw }: Session): Head | undefined {
  return raw.prepare<[], Head>('select revision, key_version as keyVersion from head').get()
}
