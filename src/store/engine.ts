import type { Kysely } from 'kysely'
import type { Clock } from '../base/clock.ts'
import type { ServedState } from '../schema/state.ts'
import type { Tables } from './tables.ts'
import type { Head } from './types.ts'

type OrPromise<T> = T | Promise<T>

/**
 * SQL that is the same on every engine, with `?` for parameters, for what must start without Kysely. A connection of
 * better-sqlite3 is one, and answers at once.
 */
export interface PlainSql {
  prepare(sql: string): PlainStatement<unknown[], unknown>
}

interface PlainStatement<Parameters extends unknown[], Row> {
  all(...parameters: Parameters): OrPromise<Row[]>
  get(...parameters: Parameters): OrPromise<Row | undefined>
  run(...parameters: Parameters): OrPromise<{ readonly changes: number }>
}

/** A statement with the types of its parameters and of its rows. */
export function prepare<Parameters extends unknown[], Row = unknown>(
  raw: PlainSql,
  sql: string,
): PlainStatement<Parameters, Row> {
  return raw.prepare(sql) as PlainStatement<Parameters, Row>
}

/** How much the statements of a transaction read: on PostgreSQL they time out after a minute, over the whole ledger after hours. */
export type Effort = 'usual' | 'whole_ledger'

/** The transactions of a store; errors of the database are errors for the operator. */
export interface Transactions<Raw extends PlainSql = PlainSql> {
  /** All reads of `work` see one moment. */
  read<T>(work: (db: Kysely<Tables>) => Promise<T>): Promise<T>
  /** The same without Kysely. */
  readBare<T>(work: (raw: Raw) => Promise<T>, effort?: Effort): Promise<T>
  /**
   * One at a time in a store: what `work` reads stays valid until it has written. Rolls back if it throws.
   */
  write<T>(work: (db: Kysely<Tables>, raw: Raw) => Promise<T>, effort?: Effort): Promise<T>
  /** The same without Kysely. */
  writeBare<T>(work: (raw: Raw) => OrPromise<T>, effort?: Effort): Promise<T>
  /**
   * By how many milliseconds the clock that all gateways of the store share is ahead of this machine's. What one gateway
   * writes for others to compare is by that clock.
   */
  clockOffMs(): Promise<number>
}

export interface StorePorts<Raw extends PlainSql = PlainSql> extends Transactions<Raw> {
  readonly clock: Clock
}

/** What stands behind a store: SQLite or PostgreSQL. */
export interface Engine<Raw extends PlainSql = PlainSql> extends Transactions<Raw> {
  /** Notices commits of other processes. */
  readonly changes: ChangeDetector
  /** Called in the transaction that has deleted many rows. */
  releaseSpace(raw: Raw): void
  close(): Promise<void>
}

export interface ChangeDetector {
  /** Reads the state with which {@link changed} compares from then on. */
  readState(read: (raw: PlainSql) => Promise<ServedState>): Promise<ServedState>
  /** As {@link Store.changed}. */
  changed(): boolean
  /** An own commit is no change, unless another process committed in between. */
  recordOwnCommit(from: Head, to: Head): void
}

export function isSameHead(a: Head | undefined, b: Head | undefined): boolean {
  return a !== undefined && b !== undefined && a.revision === b.revision && a.keyVersion === b.keyVersion
}
