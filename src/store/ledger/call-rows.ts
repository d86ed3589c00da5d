import type Database from 'better-sqlite3'
import { type CallRecord, hasUnitsBesideTokens, type Usage } from '../../schema/ledger.ts'
import { fromFlags, RequestIdBytes, usageColumns } from './columns.ts'
import { type GroupedOptions, GroupedStatement, MOST_WAITING } from './grouped-statement.ts'
import type { Interned } from './interned.ts'
import { type LoggedRow, LogPages } from './log-pages.ts'
import * as sql from './statements.ts'

/** Inserts rows of the call log, and adds each to the index of its page. */
export class CallRows {
  readonly #names: Interned
  readonly #pages: LogPages
  readonly #any: GroupedStatement
  /** Of calls that have tokens alone; one of both groups is empty, so that ids are in the order of the rows. */
  readonly #ofTokens: GroupedStatement
  /** The calls that wait to be inserted, in order. */
  #logged: LoggedRow[] = []
  readonly #requestIds = new RequestIdBytes(MOST_WAITING)

  constructor(raw: Database.Database, names: Interned) {
    this.#names = names
    this.#pages = new LogPages(raw)
    const insertCalls: GroupedOptions['run'] = (statement, values, rows) => {
      const { lastInsertRowid } = statement.run(...values)
      this.#pages.add(Number(lastInsertRowid) - rows + 1, this.#logged.splice(0, rows))
    }
    this.#any = new GroupedStatement(raw, {
      sql: sql.insertCalls,
      width: sql.CALL_COLUMNS,
      run: insertCalls,
    })
    this.#ofTokens = new GroupedStatement(raw, {
      sql: sql.insertTokenCalls,
      width: sql.TOKEN_CALL_COLUMNS,
      run: insertCalls,
    })
  }

  add(record: CallRecord): void {
    const names = this.#names
    const logged: LoggedRow = {
      atMs: record.atMs,
      tenant_id: record.tenant === undefined ? null : names.idOf(record.tenant),
      publication_id: names.idOf(record.publication),
      endpoint_id: record.endpoint === undefined ? null : names.idOf(record.endpoint),
      outcome_id: names.idOf(record.outcome),
      status: record.status,
      node_id: record.node === undefined ? null : names.idOf(record.node),
    }
    const { usage, firstByteMs } = record
    const hasTokensAlone =
      usage !== undefined &&
      !hasUnitsBesideTokens(usage) &&
      firstByteMs !== undefined &&
      record.flags.length === 0 &&
      record.errorCode === undefined &&
      record.reason === undefined &&
      record.failedAttempts === undefined
    if (hasTokensAlone) this.#addOfTokens(record, usage, firstByteMs, logged)
    else this.#addOfAny(record, logged)
  }

  #addOfTokens(record: CallRecord, usage: Usage, firstByteMs: number, logged: LoggedRow): void {
    const names = this.#names
    this.#any.flush()
    this.#logged.push(logged)
    this.#ofTokens.add(
      record.atMs,
      this.#requestIds.of(record.requestId),
      names.idOf(record.key),
      logged.tenant_id ?? 0,
      logged.publication_id,
      logged.endpoint_id ?? 0,
      names.idOf(record.path),
      record.status,
      record.stream ? 1 : 0,
      logged.outcome_id,
      usage.inputTokens,
      usage.cachedInputTokens,
      usage.cacheWriteTokens,
      usage.outputTokens,
      record.amountNano,
      Math.round(record.latencyMs),
      Math.round(firstByteMs),
      record.attempts,
      logged.node_id ?? 0,
    )
  }

  #addOfAny(record: CallRecord, logged: LoggedRow): void {
    const names = this.#names
    this.#ofTokens.flush()
    this.#logged.push(logged)
    this.#any.add(
      record.atMs,
      this.#requestIds.of(record.requestId),
      names.idOf(record.key),
      logged.tenant_id,
      logged.publication_id,
      logged.endpoint_id,
      names.idOf(record.path),
      record.status,
      record.stream ? 1 : 0,
      logged.outcome_id,
      record.errorCode === undefined ? null : names.idOf(record.errorCode),
      ...usageColumns(record.usage),
      record.amountNano,
      fromFlags(record.flags),
      Math.round(record.latencyMs),
      record.firstByteMs === undefined ? null : Math.round(record.firstByteMs),
      record.attempts,
      record.reason ?? null,
      record.failedAttempts ? JSON.stringify(record.failedAttempts) : null,
      logged.node_id,
    )
  }

  /** @throws {Database.SqliteError} {TypeError} {RangeError} for any row that waits. */
  flush(): void {
    this.#any.flush()
    this.#ofTokens.flush()
  }

  /** Writes what the pages of the log got in this batch. Nothing may wait. */
  endBatch(): void {
    this.#pages.endBatch()
  }

  /** Forgets the rows of a batch that failed. */
  rollBack(): void {
    this.#any.clear()
    this.#ofTokens.clear()
    this.#logged = []
    this.#pages.rollBack()
  }
}
