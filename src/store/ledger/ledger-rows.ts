import Database from 'better-sqlite3'
import type { CallRecord, Claim, Hold, HoldEnd, Settlement, StoredIds } from '../../schema/ledger.ts'
import { fromFlags, type NanoParts, parts, toNano } from './columns.ts'
import type { Row, RowFault } from './messages.ts'
import { type OpenHold, OpenHolds } from './open-holds.ts'
import * as sql from './statements.ts'
import { BatchSums } from './sums.ts'
import { addUsageTo, usageValues } from './usage-sums.ts'
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

/**
 * Writes batches: entries, open holds and the sums over them, in one transaction each.
 * A batch is written whole or not at all, and may be retried: a failed attempt leaves no trace.
 */
export class LedgerRows {
  readonly #raw: Database.Database
  readonly #begin: Database.Statement
  readonly #commit: Database.Statement
  readonly #holdEntry: Database.Statement
  readonly #openHold: Database.Statement
  readonly #closeHold: Database.Statement
  readonly #settlement: Database.Statement
  readonly #storeResponse: Database.Statement
  readonly #release: Database.Statement
  readonly #endOf: Database.Statement
  readonly #call: Database.Statement
  readonly #quarter: Database.Statement
  readonly #key: Database.Statement
  readonly #wallet: Database.Statement
  readonly #balance: Database.Statement
  readonly #probe: Database.Statement
  readonly #folded: Database.Statement
  readonly #addPrice: Database.Statement
  readonly #priceOf: Database.Statement
  readonly #holds: OpenHolds
  /** Ids of prices that are committed, or are in the current batch. */
  readonly #priceIds = new Map<string, number>()

  constructor(raw: Database.Database) {
    this.#raw = raw
    this.#begin = raw.prepare('begin immediate')
    this.#commit = raw.prepare('commit')
    this.#holdEntry = raw.prepare(sql.INSERT_HOLD_ENTRY)
    this.#openHold = raw.prepare(sql.INSERT_OPEN_HOLD)
    this.#closeHold = raw.prepare(sql.DELETE_OPEN_HOLD)
    this.#settlement = raw.prepare(sql.INSERT_SETTLEMENT)
    this.#storeResponse = raw.prepare(sql.STORE_RESPONSE)
    this.#release = raw.prepare(sql.INSERT_RELEASE)
    this.#endOf = raw.prepare(sql.SELECT_END)
    this.#call = raw.prepare(sql.INSERT_CALL)
    this.#quarter = raw.prepare(addUsageTo('usage_quarters'))
    this.#key = raw.prepare(sql.ADD_TO_KEY)
    this.#wallet = raw.prepare(sql.ADD_TO_WALLET)
    this.#balance = raw.prepare(sql.SELECT_BALANCE)
    this.#probe = raw.prepare(sql.PROBE)
    this.#folded = raw.prepare(sql.SET_FOLDED_ROW)
    this.#addPrice = raw.prepare(sql.ADD_PRICE)
    this.#priceOf = raw.prepare(sql.SELECT_PRICE).pluck()
    this.#holds = new OpenHolds(openHolds(raw))
  }

  /**
   * Commits the rows in their order. Returns the rows that were left out, by index: they contradict the ledger, or are
   * prepaid and not covered. Balances are read under the write lock, so they include the debits of all processes.
   * @param foldedRow The last row of the journal that is in the store with this commit; absent for rows of no journal.
   * @throws {RowRejected} if one row must be removed before the others can be written
   * @throws {Database.SqliteError} if nothing can be written now
   */
  write(rows: readonly Row[], foldedRow?: number): ReadonlyMap<number, RowFault> {
    this.#holds.begin()
    try {
      return this.#transaction(() => {
        const faults = new Map<number, RowFault>()
        const sums = new BatchSums()
        for (const [index, row] of rows.entries()) {
          const fault = this.#row(row, index, sums)
          if (fault) faults.set(index, fault)
        }
        this.#addSums(sums)
        if (foldedRow !== undefined) this.#folded.run(foldedRow)
        return faults
      })
    } catch (error) {
      this.#holds.rollBack()
      this.#priceIds.clear()
      throw error
    }
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
    try {
      if (row[0] === 'hold') return this.#open(row[1], sums)
      if (row[0] === 'end') return this.#end(row[1], sums)
      return this.#log(row[1])
    } catch (error) {
      throw isOfRow(error) ? new RowRejected(index, error) : error
    }
  }

  #open(hold: Hold, sums: BatchSums): RowFault | undefined {
    const { requestId, attempt, tenant, amountNano } = hold
    if (hold.prepaid && tenant !== undefined && amountNano > 0n) {
      const kept = toNano(this.#balance.get(tenant) as NanoParts | undefined)
      const balanceNano = kept - (sums.spent.get(tenant) ?? 0n)
      const heldNano = this.#holds.heldNano(tenant)
      if (balanceNano - heldNano < amountNano) return { balanceNano, heldNano }
    }
    const { changes, lastInsertRowid } = this.#holdEntry.run(
      ...claim(hold),
      hold.openedAtMs,
      hold.amountNano,
      hold.deadlineMs,
      hold.tokens,
      hold.inputTokens,
      hold.inputAmountNano,
      hold.inputUnits?.durationMs ?? null,
      hold.inputUnits?.characters ?? null,
      hold.inputUnits?.images ?? null,
    )
    if (changes === 0) return 'held_twice'
    const { call, price } = hold
    const priceId = price === undefined ? null : this.#priceId(price)
    const entryId = Number(lastInsertRowid)
    this.#openHold.run(entryId, call?.path ?? null, call?.stream ? 1 : 0, priceId)
    this.#holds.open({ requestId, attempt, entryId, tenant: tenant ?? null, amountNano, priceId })
    return undefined
  }

  #end(end: HoldEnd, sums: BatchSums): RowFault | undefined {
    const hold = this.#holds.end(end)
    if (!hold || this.#closeHold.run(hold.entryId).changes === 0) return this.#endedBefore(end)
    if (end.kind === 'release') {
      this.#release.run(...claim(end), end.endedAtMs, end.reason)
      return undefined
    }
    const { usage } = end
    this.#settlement.run(
      ...claim(end),
      end.endedAtMs,
      end.amountNano,
      usage.inputTokens,
      usage.cachedInputTokens,
      usage.cacheWriteTokens,
      usage.outputTokens,
      usage.searchUnits,
      usage.durationMs,
      usage.characters,
      usage.images,
      fromFlags(end.flags),
      hold.priceId,
    )
    sums.add(end)
    if (end.stored) this.#store(end, end.stored)
    return undefined
  }

  #store(end: Settlement, { ids, tokens, outputTokens, expiresAtMs }: StoredIds): void {
    const { key, tenant = null, publication, endpoint, endedAtMs } = end
    for (const [at, id] of ids.entries()) {
      const row = [id, key, tenant, publication, endpoint, at === 0 ? tokens : outputTokens, expiresAtMs]
      this.#storeResponse.run(...row, endedAtMs, endedAtMs)
    }
  }

  /** There are few prices and many charges: a charge refers to its price by number. */
  #priceId(price: string): number {
    let id = this.#priceIds.get(price)
    if (id === undefined) {
      this.#addPrice.run(price)
      id = this.#priceOf.get(price) as number
      this.#priceIds.set(price, id)
    }
    return id
  }

  /** The first end is final: an equal second one is a no-op, any other raises an alarm (spec/money.md §1). */
  #endedBefore(end: HoldEnd): RowFault | undefined {
    const first = this.#endOf.get(end.requestId, end.attempt) as { kind: string; amount: string } | undefined
    if (!first) return 'never_held'
    const amountNano = end.kind === 'settle' ? end.amountNano : 0n
    return first.kind === end.kind && BigInt(first.amount) === amountNano ? undefined : 'ended_differently'
  }

  #log(record: CallRecord): undefined {
    const { usage } = record
    this.#call.run(
      record.atMs,
      record.requestId,
      record.key,
      record.tenant ?? null,
      record.publication,
      record.endpoint ?? null,
      record.protocol,
      record.path,
      record.status,
      record.stream ? 1 : 0,
      record.outcome,
      record.errorCode ?? null,
      usage?.inputTokens ?? null,
      usage?.cachedInputTokens ?? null,
      usage?.cacheWriteTokens ?? null,
      usage?.outputTokens ?? null,
      usage?.searchUnits ?? null,
      usage?.durationMs ?? null,
      usage?.characters ?? null,
      usage?.images ?? null,
      record.amountNano,
      fromFlags(record.flags),
      Math.round(record.latencyMs),
      record.firstByteMs === undefined ? null : Math.round(record.firstByteMs),
      record.attempts,
      record.reason ?? null,
      record.failedAttempts ? JSON.stringify(record.failedAttempts) : null,
    )
  }

  #addSums(sums: BatchSums): void {
    for (const sum of sums.quarters.values()) this.#quarter.run(...usageValues(sum))
    for (const [key, { tokens, amountNano }] of sums.keys) {
      this.#key.run(key, tokens, ...parts(amountNano))
    }
    for (const [tenant, amountNano] of sums.spent) this.#wallet.run(tenant, ...parts(-amountNano))
  }
}

function openHolds(raw: Database.Database): OpenHold[] {
  const rows = raw.prepare(sql.SELECT_OPEN_HOLDS).all() as (Omit<OpenHold, 'amountNano'> & { nano: string })[]
  return rows.map(({ nano, ...hold }) => ({ ...hold, amountNano: BigInt(nano) }))
}

type ClaimColumns = readonly [string, number, string, string | null, string, string]

function claim({ requestId, attempt, key, tenant, publication, endpoint }: Claim): ClaimColumns {
  return [requestId, attempt, key, tenant ?? null, publication, endpoint]
}

function isOfRow(error: unknown): error is Error {
  if (error instanceof Database.SqliteError) return ROW_CODES.test(error.code)
  // better-sqlite3 throws these for a value that it cannot bind.
  return error instanceof TypeError || error instanceof RangeError
}
