import type Database from 'better-sqlite3'
import type { Kysely, Selectable } from 'kysely'
import type { RejectedCall } from '../../schema/ledger.ts'
import type { RejectedCallsTable, Tables } from '../tables.ts'
import type { CallLogQuery, StoredRejection } from './types.ts'

/** The log of rejected calls keeps this many rows, the newest. */
export const MAX_REJECTED_ROWS = 20_000
/** Rows per second: of one key, and in total. Further calls are counted by key and code, then by code alone. */
const MAX_ROWS_OF_KEY = 5
const MAX_ROWS = 100

const INSERT = `
  insert into rejected_calls (at_ms, request_id, key_name, tenant, asked_model, protocol, path, status, error_code,
    message, reason, count)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
const TRIM = `delete from rejected_calls where id <= (select max(id) from rejected_calls) - ${MAX_REJECTED_ROWS}`
const PRUNE = `
  delete from rejected_calls where id in (select id from rejected_calls where at_ms < ? order by id limit ?)`

/** Collects rejected calls: one row for all with the same key, code and model. Its size is bounded. */
export class RejectedSample {
  #rows = new Map<string, RejectedCall>()
  readonly #rowsOfKey = new Map<string, number>()

  add(call: RejectedCall): void {
    const { key = '', errorCode } = call
    if (this.#count(`${errorCode} ${key} ${call.askedModel ?? ''}`)) return
    const ofKey = this.#rowsOfKey.get(key) ?? 0
    if (ofKey < MAX_ROWS_OF_KEY && this.#rows.size < MAX_ROWS) {
      this.#rowsOfKey.set(key, ofKey + 1)
      this.#rows.set(`${errorCode} ${key} ${call.askedModel ?? ''}`, call)
    } else if (this.#rows.size < MAX_ROWS)
      this.#addCommon(`${errorCode} ${key}`, { ...call, askedModel: undefined })
    else this.#addCommon(errorCode, { ...call, askedModel: undefined, key: undefined, tenant: undefined })
  }

  /** Returns and clears the collected rows. */
  take(): readonly RejectedCall[] {
    const rows = [...this.#rows.values()]
    this.#rows.clear()
    this.#rowsOfKey.clear()
    return rows
  }

  #addCommon(of: string, call: RejectedCall): void {
    if (!this.#count(of)) this.#rows.set(of, call)
  }

  #count(of: string): boolean {
    const row = this.#rows.get(of)
    if (row) this.#rows.set(of, { ...row, count: row.count + 1 })
    return row !== undefined
  }
}

/** Inserts rows, and deletes the oldest above the limit. Runs in a transaction of the writer. */
export function insertRejected(raw: Database.Database, calls: readonly RejectedCall[]): undefined {
  const insert = raw.prepare(INSERT)
  for (const call of calls) {
    insert.run(
      call.atMs,
      call.requestId,
      call.key ?? null,
      call.tenant ?? null,
      call.askedModel ?? null,
      call.protocol,
      call.path,
      call.status,
      call.errorCode,
      call.message,
      call.reason ?? null,
      call.count,
    )
  }
  raw.prepare(TRIM).run()
}

export function pruneRejected(raw: Database.Database, beforeMs: number, maxRows: number): void {
  raw.prepare(PRUNE).run(beforeMs, maxRows)
}

/** Takes the queries of the call log; no rejected call has an endpoint or a node. */
export async function selectRejected(db: Kysely<Tables>, query: CallLogQuery): Promise<StoredRejection[]> {
  if (query.endpoint !== undefined || query.node !== undefined) return []
  let select = db
    .selectFrom('rejected_calls')
    .selectAll()
    .orderBy('id', query.after === undefined ? 'desc' : 'asc')
    .limit(query.limit ?? 100)
  if (query.after !== undefined) select = select.where('id', '>', query.after)
  if (query.before !== undefined) select = select.where('id', '<', query.before)
  if (query.key !== undefined) select = select.where('key_name', '=', query.key)
  if (query.tenant !== undefined) select = select.where('tenant', '=', query.tenant)
  if (query.publication !== undefined) select = select.where('asked_model', '=', query.publication)
  if (query.requestId !== undefined) select = select.where('request_id', '=', query.requestId)
  if (query.minStatus !== undefined) select = select.where('status', '>=', query.minStatus)
  if (query.maxStatus !== undefined) select = select.where('status', '<=', query.maxStatus)
  if (query.sinceMs !== undefined) select = select.where('at_ms', '>=', query.sinceMs)
  if (query.untilMs !== undefined) select = select.where('at_ms', '<', query.untilMs)
  if (query.outcome === 'rejected') select = select.where('status', '<', 500)
  else if (query.outcome === 'failed') select = select.where('status', '>=', 500)
  else if (query.outcome !== undefined) return []
  return (await select.execute()).map(toRejection)
}

function toRejection(row: Selectable<RejectedCallsTable>): StoredRejection {
  return {
    id: row.id,
    requestId: row.request_id,
    atMs: row.at_ms,
    ...(row.key_name !== null && { key: row.key_name }),
    ...(row.tenant !== null && { tenant: row.tenant }),
    ...(row.asked_model !== null && { askedModel: row.asked_model }),
    protocol: row.protocol as StoredRejection['protocol'],
    path: row.path,
    status: row.status,
    errorCode: row.error_code,
    message: row.message,
    ...(row.reason !== null && { reason: row.reason }),
    count: row.count,
  }
}
