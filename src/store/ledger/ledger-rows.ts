import Database from 'better-sqlite3'
import type { CallRecord, Claim, Hold, HoldEnd, Settlement, StoredIds, Usage } from '../../schema/ledger.ts'
import { codeOf, fromFlags, fromRequestId, KINDS, type NanoParts, parts, toNano } from './columns.ts'
import { Interned } from './interned.ts'
import { LogPages } from './log-pages.ts'
import type { Row, RowFault } from './messages.ts'
import { type OpenHold, OpenHolds } from './open-holds.ts'
import * as sql from './statements.ts'
import { BatchSums } from './sums.ts'
import { addUsageTo, DAY_QUARTERS, sumValues, usageValues } from './usage-sums.ts'
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

const SETTLE = codeOf('settle')
const RELEASE = codeOf('release')

/** A hold of the current batch, and its index there. */
interface NewHold {
  readonly hold: Hold
  readonly index: number
}

/**
 * Writes batches: ends of calls, open holds and the sums over them, in one transaction each. A call that ends in the batch
 * of its hold is one row; otherwise the hold waits in `open_holds`.
 * A batch is written whole or not at all, and may be retried: a failed attempt leaves no trace.
 */
export class LedgerRows {
  readonly #raw: Database.Database
  readonly #lane: number
  readonly #begin: Database.Statement
  readonly #commit: Database.Statement
  readonly #openHold: Database.Statement
  readonly #closeHold: Database.Statement
  readonly #addOpenHolds: Database.Statement
  readonly #insertEnd: Database.Statement
  readonly #storeResponse: Database.Statement
  readonly #endOf: Database.Statement
  readonly #call: Database.Statement
  readonly #quarter: Database.Statement
  readonly #day: Database.Statement
  readonly #keyDay: Database.Statement
  readonly #modelDay: Database.Statement
  readonly #key: Database.Statement
  readonly #wallet: Database.Statement
  readonly #balance: Database.Statement
  readonly #heldElsewhere: Database.Statement
  readonly #probe: Database.Statement
  readonly #folded: Database.Statement
  readonly #names: Interned
  readonly #prices: Interned
  readonly #logPages: LogPages
  readonly #holds: OpenHolds
  /** The holds of the current batch that are still open. */
  readonly #newHolds = new Map<OpenHold, NewHold>()
  /** How many earlier holds ended in the current batch. */
  #closed = 0

  /** @param lane Of the gateway that opens and ends the holds. */
  constructor(raw: Database.Database, lane = 0) {
    this.#raw = raw
    this.#lane = lane
    this.#begin = raw.prepare('begin immediate')
    this.#commit = raw.prepare('commit')
    this.#openHold = raw.prepare(sql.INSERT_OPEN_HOLD)
    this.#closeHold = raw.prepare(sql.DELETE_OPEN_HOLD)
    this.#addOpenHolds = raw.prepare(sql.ADD_OPEN_HOLDS)
    this.#insertEnd = raw.prepare(sql.INSERT_END)
    this.#storeResponse = raw.prepare(sql.STORE_RESPONSE)
    this.#endOf = raw.prepare(sql.SELECT_END)
    this.#call = raw.prepare(sql.INSERT_CALL)
    this.#quarter = raw.prepare(addUsageTo('usage_quarters'))
    this.#day = raw.prepare(
      addUsageTo('usage_days', ['key_name', 'day', 'tenant', 'publication', 'endpoint']),
    )
    this.#keyDay = raw.prepare(addUsageTo('usage_key_days', ['key_name', 'day', 'tenant']))
    this.#modelDay = raw.prepare(addUsageTo('usage_model_days', ['day', 'tenant', 'publication', 'endpoint']))
    this.#key = raw.prepare(sql.ADD_TO_KEY)
    this.#wallet = raw.prepare(sql.ADD_TO_WALLET)
    this.#balance = raw.prepare(sql.SELECT_BALANCE)
    this.#heldElsewhere = raw.prepare(sql.SELECT_HELD_ELSEWHERE)
    this.#probe = raw.prepare(sql.PROBE)
    this.#folded = raw.prepare(sql.SET_FOLDED_ROW)
    this.#names = new Interned(raw, 'ledger_names', 'name')
    this.#prices = new Interned(raw, 'ledger_prices', 'price')
    this.#logPages = new LogPages(raw)
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
    this.#holds.begin()
    this.#newHolds.clear()
    this.#closed = 0
    try {
      return this.#transaction(() => {
        const faults = new Map<number, RowFault>()
        const sums = new BatchSums()
        for (const [index, row] of rows.entries()) {
          const fault = this.#row(row, index, sums)
          if (fault) faults.set(index, fault)
        }
        for (const [open, hold] of this.#newHolds) this.#insertHold(open, hold)
        const added = this.#newHolds.size - this.#closed
        if (added !== 0) this.#addOpenHolds.run(added)
        this.#logPages.endBatch()
        this.#addSums(sums)
        if (foldedRow !== undefined) this.#folded.run(foldedRow, this.#lane)
        return faults
      })
    } catch (error) {
      this.#holds.rollBack()
      for (const cache of [this.#names, this.#prices, this.#logPages]) cache.rollBack()
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
    return ofRow(index, () => {
      if (row[0] === 'hold') return this.#open(row[1], index, sums)
      if (row[0] === 'end') return this.#end(row[1], sums)
      return this.#log(row[1])
    })
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
    if (this.#holds.has(hold) || this.#endOf.get(fromRequestId(requestId), attempt)) return 'held_twice'
    const priceId = price === undefined ? null : this.#prices.idOf(price)
    const open = { id: undefined, requestId, attempt, tenant, openedAtMs, amountNano, tokens, priceId }
    this.#holds.open(open)
    this.#newHolds.set(open, { hold, index })
    return undefined
  }

  /** A hold that did not end in its batch. */
  #insertHold(open: OpenHold, { hold, index }: NewHold): void {
    const { call, inputUnits } = hold
    const { lastInsertRowid } = ofRow(index, () =>
      this.#openHold.run(
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
      ),
    )
    open.id = Number(lastInsertRowid)
  }

  #end(end: HoldEnd, sums: BatchSums): RowFault | undefined {
    const hold = this.#holds.end(end)
    if (!hold) return this.#endedBefore(end)
    if (hold.id === undefined) this.#newHolds.delete(hold)
    else {
      this.#closeHold.run(hold.id)
      this.#closed++
    }
    const usage = end.kind === 'settle' ? end.usage : undefined
    this.#insertEnd.run(
      usage ? SETTLE : RELEASE,
      end.endedAtMs,
      fromRequestId(end.requestId),
      ...this.#claim(end),
      end.kind === 'settle' ? end.amountNano : 0,
      ...usageColumns(usage),
      end.kind === 'settle' ? fromFlags(end.flags) : 0,
      end.kind === 'settle' ? hold.priceId : null,
      end.kind === 'release' ? this.#names.idOf(end.reason) : null,
      end.endedAtMs - hold.openedAtMs,
      hold.amountNano,
      hold.tokens,
    )
    if (end.kind === 'release') return undefined
    sums.add(end)
    if (end.stored) this.#store(end, end.stored)
    return undefined
  }

  /** The attempt, and the numbers of the names. */
  #claim({ attempt, key, tenant, publication, endpoint }: Claim): (number | null)[] {
    const names = this.#names
    return [
      attempt,
      names.idOf(key),
      tenant === undefined ? null : names.idOf(tenant),
      names.idOf(publication),
      names.idOf(endpoint),
    ]
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
    const row = this.#endOf.get(fromRequestId(end.requestId), end.attempt)
    const first = row as { kind: number; amount: string } | undefined
    if (!first) return 'never_held'
    const amountNano = end.kind === 'settle' ? end.amountNano : 0n
    return KINDS[first.kind] === end.kind && BigInt(first.amount) === amountNano
      ? undefined
      : 'ended_differently'
  }

  #log(record: CallRecord): undefined {
    const names = this.#names
    const paged = {
      tenant_id: record.tenant === undefined ? null : names.idOf(record.tenant),
      publication_id: names.idOf(record.publication),
      endpoint_id: record.endpoint === undefined ? null : names.idOf(record.endpoint),
      outcome_id: names.idOf(record.outcome),
      status: record.status,
      node_id: record.node === undefined ? null : names.idOf(record.node),
    }
    const { lastInsertRowid } = this.#call.run(
      record.atMs,
      fromRequestId(record.requestId),
      names.idOf(record.key),
      paged.tenant_id,
      paged.publication_id,
      paged.endpoint_id,
      names.idOf(record.path),
      record.status,
      record.stream ? 1 : 0,
      paged.outcome_id,
      record.errorCode === undefined ? null : names.idOf(record.errorCode),
      ...usageColumns(record.usage),
      record.amountNano,
      fromFlags(record.flags),
      Math.round(record.latencyMs),
      record.firstByteMs === undefined ? null : Math.round(record.firstByteMs),
      record.attempts,
      record.reason ?? null,
      record.failedAttempts ? JSON.stringify(record.failedAttempts) : null,
      paged.node_id,
    )
    this.#logPages.add(Number(lastInsertRowid), record.atMs, paged)
  }

  #addSums(sums: BatchSums): void {
    for (const sum of sums.quarters.values()) {
      const [key, quarter, ...others] = usageValues(sum)
      this.#quarter.run(key, quarter, ...others)
      this.#day.run(key, Math.floor(sum.quarter / DAY_QUARTERS), ...others)
    }
    for (const { place, sums: day } of sums.keyDays()) this.#keyDay.run(...place, ...sumValues(day))
    for (const { place, sums: day } of sums.modelDays()) this.#modelDay.run(...place, ...sumValues(day))
    for (const [key, { tokens, amountNano }] of sums.keys) {
      this.#key.run(key, tokens, ...parts(amountNano))
    }
    for (const [tenant, amountNano] of sums.spent) this.#wallet.run(tenant, ...parts(-amountNano))
  }
}

function openHolds(raw: Database.Database, lane: number): OpenHold[] {
  const rows = raw.prepare(sql.SELECT_OPEN_HOLDS).all(lane) as (Omit<OpenHold, 'amountNano'> & {
    nano: string
  })[]
  return rows.map(({ nano, ...hold }) => ({ ...hold, amountNano: BigInt(nano) }))
}

/** Input, cached, written and output tokens, search units, duration, characters and images. */
function usageColumns(usage: Usage | undefined): (number | null)[] {
  if (!usage) return NO_USAGE
  return [
    usage.inputTokens,
    usage.cachedInputTokens,
    usage.cacheWriteTokens,
    usage.outputTokens,
    usage.searchUnits,
    usage.durationMs,
    usage.characters,
    usage.images,
  ]
}

const NO_USAGE: null[] = Array.from({ length: 8 }, () => null)

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
