import Database from 'better-sqlite3'
import {
  type Hold,
  type HoldEnd,
  hasUnitsBesideTokens,
  type Settlement,
  type StoredIds,
} from '../../schema/ledger.ts'
import { CallRows } from './call-rows.ts'
import {
  codeOf,
  fromFlags,
  fromRequestId,
  KINDS,
  type NanoParts,
  RequestIdBytes,
  toNano,
  usageColumns,
} from './columns.ts'
import { GroupedStatement, MOST_WAITING, runStatement } from './grouped-statement.ts'
import { Interned } from './interned.ts'
import type { Row, RowFault } from './messages.ts'
import { type OpenHold, OpenHolds } from './open-holds.ts'
import * as sql from './statements.ts'
import { SumRows } from './sum-rows.ts'
import { BatchSums } from './sums.ts'
import { onceUnlocked } from './write-lock.ts'

/**
 * A row that SQLite can never accept, such as one with an amount beyond 64 bits: a bug in gw, not a failure of the
 * disk.
 */
export class RowRejected extends Error {
  override readonly name = 'RowRejected'
  /** Its index in the batch. */
  readonly index: number
  constructor(index: number, cause: Error) {
    super(cause.message, { cause })
    this.index = index
  }
}

/** Error codes about a row (https://sqlite.org/rescode.html); all others are about the database or the disk. */
const ROW_CODES = /^SQLITE_(CONSTRAINT|MISMATCH|TOOBIG|RANGE)/

/** One of several rows that were written together was rejected, or one contradicts the ledger. */
class GroupRejected extends Error {
  override readonly name = 'GroupRejected'
}

const SETTLE = codeOf('settle')
const RELEASE = codeOf('release')

/** A hold of the current batch, and its index there. */
interface NewHold {
  readonly open: OpenHold
  readonly hold: Hold
  readonly index: number
}

/**
 * Writes batches: ends of calls, open holds and the sums over them, in one transaction each. A call that ends in the batch
 * of its hold is one row; otherwise the hold waits in `open_holds`.
 * A batch is written whole or not at all, and may be retried: a failed attempt leaves no trace.
 *
 * Rows are written in groups, without a look at what the ledger has of them. If it contradicts one, or SQLite rejects one,
 * the batch begins anew, row by row, which shows which one that is.
 */
export class LedgerRows {
  readonly #raw: Database.Database
  readonly #lane: number
  readonly #begin: Database.Statement
  readonly #commit: Database.Statement
  readonly #openHold: GroupedStatement
  readonly #closeHold: GroupedStatement
  readonly #anyEnd: GroupedStatement
  readonly #addOpenHolds: Database.Statement
  /** Of ends, and of those that have tokens alone: one of both is empty. */
  readonly #insertEnd: GroupedStatement
  readonly #insertTokenEnd: GroupedStatement
  readonly #storeResponse: Database.Statement
  readonly #endOf: Database.Statement
  readonly #balance: Database.Statement
  readonly #heldElsewhere: Database.Statement
  readonly #probe: Database.Statement
  readonly #folded: Database.Statement
  readonly #names: Interned
  readonly #prices: Interned
  readonly #calls: CallRows
  readonly #sums: SumRows
  readonly #holds: OpenHolds
  /** The holds of the current batch; some have ended in it. */
  #newHolds: NewHold[] = []
  /** Those that wait to be inserted, in order. */
  #opening: OpenHold[] = []
  /** How many earlier holds ended in the current batch. */
  #closed = 0
  /** In the order in which they are flushed. */
  readonly #groups: readonly GroupedStatement[]
  /** Row by row: an error belongs to the row at hand. */
  #isSingly = false
  readonly #requestsOfHolds = new RequestIdBytes(MOST_WAITING)
  readonly #requestsOfEnds = new RequestIdBytes(MOST_WAITING)

  /** @param lane Of the gateway that opens and ends the holds. */
  constructor(raw: Database.Database, lane = 0) {
    this.#raw = raw
    this.#lane = lane
    this.#begin = raw.prepare('begin immediate')
    this.#commit = raw.prepare('commit')
    this.#openHold = new GroupedStatement(raw, {
      sql: sql.insertOpenHolds,
      width: sql.OPEN_HOLD_COLUMNS,
      run: (statement, values, rows) => {
        const firstId = Number(statement.run(...values).lastInsertRowid) - rows + 1
        for (const [index, open] of this.#opening.splice(0, rows).entries()) open.id = firstId + index
      },
    })
    this.#closeHold = new GroupedStatement(raw, { sql: sql.deleteOpenHolds, width: 1, run: runStatement })
    this.#anyEnd = new GroupedStatement(raw, {
      sql: sql.selectAnyEnd,
      width: 2,
      run: (statement, values) => {
        if (statement.get(...values) !== undefined) throw new GroupRejected('a hold has ended before')
      },
    })
    this.#addOpenHolds = raw.prepare(sql.ADD_OPEN_HOLDS)
    this.#insertEnd = new GroupedStatement(raw, {
      sql: sql.insertEnds,
      width: sql.END_COLUMNS,
      run: runStatement,
    })
    this.#insertTokenEnd = new GroupedStatement(raw, {
      sql: sql.insertTokenEnds,
      width: sql.TOKEN_END_COLUMNS,
      run: runStatement,
    })
    this.#storeResponse = raw.prepare(sql.STORE_RESPONSE)
    this.#endOf = raw.prepare(sql.SELECT_END)
    this.#groups = [this.#closeHold, this.#insertEnd, this.#insertTokenEnd, this.#anyEnd, this.#openHold]
    this.#balance = raw.prepare(sql.SELECT_BALANCE)
    this.#heldElsewhere = raw.prepare(sql.SELECT_HELD_ELSEWHERE)
    this.#probe = raw.prepare(sql.PROBE)
    this.#folded = raw.prepare(sql.SET_FOLDED_ROW)
    this.#names = new Interned(raw, 'ledger_names', 'name')
    this.#prices = new Interned(raw, 'ledger_prices', 'price')
    this.#calls = new CallRows(raw, this.#names)
    this.#sums = new SumRows(raw)
    this.#holds = new OpenHolds(openHolds(raw, lane))
  }

  /**
   * Commits the rows in their order. Returns the rows that were left out, by index: they contradict the ledger, or are
   * prepaid and not covered. Balances are read under the write lock, so they include the debits of all processes.
   * @param foldedRow The last row of the journal that is in the store with this commit; absent for rows of no journal.
   * @throws {RowRejected} if one row must be removed before the others can be written
   * @throws {Database.SqliteError} if nothing can be written now
   */
  write(rows: readonly Row[], foldedRow?: number): ReadonlyMap<number, RowFault> {
    try {
      return this.#write(rows, foldedRow, false)
    } catch (error) {
      if (!(error instanceof GroupRejected)) throw error
      return this.#write(rows, foldedRow, true)
    }
  }

  #write(
    rows: readonly Row[],
    foldedRow: number | undefined,
    isSingly: boolean,
  ): ReadonlyMap<number, RowFault> {
    this.#holds.begin()
    this.#newHolds = []
    this.#closed = 0
    this.#isSingly = isSingly
    try {
      return this.#transaction(() => {
        const faults = new Map<number, RowFault>()
        const sums = new BatchSums()
        for (let index = 0; index < rows.length; index++) {
          const fault = this.#row(rows[index] as Row, index, sums)
          if (fault) faults.set(index, fault)
        }
        this.#flush()
        const left = this.#newHolds.filter(({ open }) => this.#holds.isOpen(open))
        for (const hold of left) this.#insertHold(hold)
        this.#flush()
        const added = left.length - this.#closed
        if (added !== 0) this.#addOpenHolds.run(added)
        this.#calls.endBatch()
        this.#sums.add(sums)
        if (foldedRow !== undefined) this.#folded.run(foldedRow, this.#lane)
        return faults
      })
    } catch (error) {
      this.#holds.rollBack()
      for (const cache of [this.#names, this.#prices, this.#calls]) cache.rollBack()
      for (const group of this.#groups) group.clear()
      this.#opening = []
      throw !isSingly && isOfRow(error) ? new GroupRejected(error.message, { cause: error }) : error
    }
  }

  #flush(): void {
    for (const group of this.#groups) group.flush()
    this.#calls.flush()
  }

  /** Makes a write without effect. @throws {Database.SqliteError} while nothing can be written. */
  probe(nowMs: number): void {
    this.#transaction(() => this.#probe.run(nowMs))
  }

  #transaction<T>(work: () => T): T {
    const raw = this.#raw
    onceUnlocked(() => this.#begin.run())
    try {
      const result = work()
      this.#commit.run()
      return result
    } catch (error) {
      // A full disk rolls back automatically.
      if (raw.inTransaction) raw.exec('rollback')
      throw error
    }
  }

  #row(row: Row, index: number, sums: BatchSums): RowFault | undefined {
    if (!this.#isSingly) return this.#add(row, index, sums)
    return ofRow(index, () => {
      const fault = this.#add(row, index, sums)
      this.#flush()
      return fault
    })
  }

  #add(row: Row, index: number, sums: BatchSums): RowFault | undefined {
    if (row[0] === 'hold') return this.#open(row[1], index, sums)
    if (row[0] === 'end') return this.#end(row[1], sums)
    this.#calls.add(row[1])
    return undefined
  }

  #open(hold: Hold, index: number, sums: BatchSums): RowFault | undefined {
    const { requestId, attempt, tenant = null, openedAtMs, amountNano, tokens, price } = hold
    if (hold.prepaid && tenant !== null && amountNano > 0n) {
      const kept = toNano(this.#balance.get(tenant) as NanoParts | undefined)
      const balanceNano = kept - (sums.spent.get(tenant) ?? 0n)
      const elsewhere = this.#heldElsewhere.get(tenant, this.#lane) as NanoParts
      const heldNano = this.#holds.heldNano(tenant) + toNano(elsewhere)
      if (balanceNano - heldNano < amountNano) return { balanceNano, heldNano }
    }
    // Otherwise the end of the hold, or the end of the batch, shows whether it has ended before.
    const hasEnded = this.#isSingly && this.#endOf.get(fromRequestId(requestId), attempt)
    if (hasEnded || this.#holds.has(hold)) return 'held_twice'
    const priceId = price === undefined ? null : this.#prices.idOf(price)
    const open = { id: undefined, requestId, attempt, tenant, openedAtMs, amountNano, tokens, priceId }
    this.#holds.open(open)
    this.#newHolds.push({ open, hold, index })
    return undefined
  }

  /** A hold that did not end in its batch. */
  #insertHold({ open, hold, index }: NewHold): void {
    if (!this.#isSingly) {
      this.#anyEnd.add(this.#requestsOfHolds.of(hold.requestId), hold.attempt)
      this.#addHold(open, hold)
      return
    }
    ofRow(index, () => {
      this.#addHold(open, hold)
      this.#openHold.flush()
    })
  }

  #addHold(open: OpenHold, hold: Hold): void {
    const { call, inputUnits } = hold
    this.#opening.push(open)
    this.#openHold.add(
      hold.requestId,
      hold.attempt,
      hold.key,
      hold.tenant ?? null,
      hold.publication,
      hold.endpoint,
      hold.openedAtMs,
      hold.deadlineMs,
      hold.amountNano,
      hold.tokens,
      hold.inputTokens,
      hold.inputAmountNano,
      inputUnits?.durationMs ?? null,
      inputUnits?.characters ?? null,
      inputUnits?.images ?? null,
      call?.path ?? null,
      call?.stream ? 1 : 0,
      open.priceId,
      this.#lane,
    )
  }

  #end(end: HoldEnd, sums: BatchSums): RowFault | undefined {
    const hold = this.#holds.end(end)
    if (!hold) return this.#endedBefore(end)
    if (hold.id !== undefined) {
      this.#closeHold.add(hold.id)
      this.#closed++
    }
    if (end.kind === 'release') {
      this.#addEnd(end, hold)
      return undefined
    }
    if (end.flags.length > 0 || hasUnitsBesideTokens(end.usage)) this.#addEnd(end, hold)
    else this.#addTokenEnd(end, hold)
    sums.add(end)
    if (end.stored) this.#store(end, end.stored)
    return undefined
  }

  #addTokenEnd(end: Settlement, hold: OpenHold): void {
    const names = this.#names
    const { usage } = end
    // Their ids are in the order of the rows.
    this.#insertEnd.flush()
    this.#insertTokenEnd.add(
      end.endedAtMs,
      this.#requestsOfEnds.of(end.requestId),
      end.attempt,
      names.idOf(end.key),
      end.tenant === undefined ? 0 : names.idOf(end.tenant),
      names.idOf(end.publication),
      names.idOf(end.endpoint),
      end.amountNano,
      usage.inputTokens,
      usage.cachedInputTokens,
      usage.cacheWriteTokens,
      usage.outputTokens,
      hold.priceId ?? 0,
      end.endedAtMs - hold.openedAtMs,
      hold.amountNano,
      hold.tokens,
    )
  }

  #addEnd(end: HoldEnd, hold: OpenHold): void {
    const names = this.#names
    const settlement = end.kind === 'settle' ? end : undefined
    this.#insertTokenEnd.flush()
    this.#insertEnd.add(
      settlement ? SETTLE : RELEASE,
      end.endedAtMs,
      this.#requestsOfEnds.of(end.requestId),
      end.attempt,
      names.idOf(end.key),
      end.tenant === undefined ? null : names.idOf(end.tenant),
      names.idOf(end.publication),
      names.idOf(end.endpoint),
      settlement ? settlement.amountNano : 0,
      ...usageColumns(settlement?.usage),
      settlement ? fromFlags(settlement.flags) : 0,
      settlement ? hold.priceId : null,
      end.kind === 'release' ? names.idOf(end.reason) : null,
      end.endedAtMs - hold.openedAtMs,
      hold.amountNano,
      hold.tokens,
    )
  }

  #store(end: Settlement, { ids, tokens, outputTokens, expiresAtMs }: StoredIds): void {
    const { key, tenant = null, publication, endpoint, endedAtMs } = end
    for (const [at, id] of ids.entries()) {
      const row = [id, key, tenant, publication, endpoint, at === 0 ? tokens : outputTokens, expiresAtMs]
      this.#storeResponse.run(...row, endedAtMs, endedAtMs)
    }
  }

  /** The first end is final: an equal second one is a no-op, any other raises an alarm (spec/money.md §1). */
  #endedBefore(end: HoldEnd): RowFault | undefined {
    this.#insertEnd.flush()
    this.#insertTokenEnd.flush()
    const row = this.#endOf.get(fromRequestId(end.requestId), end.attempt)
    const first = row as { kind: number; amount: string } | undefined
    if (!first) return 'never_held'
    const amountNano = end.kind === 'settle' ? end.amountNano : 0n
    return KINDS[first.kind] === end.kind && BigInt(first.amount) === amountNano
      ? undefined
      : 'ended_differently'
  }
}

function openHolds(raw: Database.Database, lane: number): OpenHold[] {
  const rows = raw.prepare(sql.SELECT_OPEN_HOLDS).all(lane) as (Omit<OpenHold, 'amountNano'> & {
    nano: string
  })[]
  return rows.map(({ nano, ...hold }) => ({ ...hold, amountNano: BigInt(nano) }))
}

/** @throws {RowRejected} for an error of the row itself. */
function ofRow<T>(index: number, write: () => T): T {
  try {
    return write()
  } catch (error) {
    throw isOfRow(error) ? new RowRejected(index, error) : error
  }
}

function isOfRow(error: unknown): error is Error {
  if (error instanceof Database.SqliteError) return ROW_CODES.test(error.code)
  // better-sqlite3 throws these for a value that it cannot bind.
  return error instanceof TypeError || error instanceof RangeError
}
