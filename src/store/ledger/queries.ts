import type Database from 'better-sqlite3'
import { type Clock, systemClock } from '../../base/clock.ts'
import type { Hold, StoredResponse } from '../../schema/ledger.ts'
import { SqliteInstances } from '../shares/instances.ts'
import { codeOf, type NanoParts, nameOf, toNano } from './columns.ts'
import { PAGE_IDS } from './log-pages.ts'
import type { Answers, LedgerQuery } from './messages.ts'
import { insertRejected, pruneRejected } from './rejected-calls.ts'
import { SELECT_BALANCE } from './statements.ts'
import { QUARTER_MS } from './usage-sums.ts'
import { onceUnlocked } from './write-lock.ts'

const DEBIT = codeOf('debit')
const PAGE_ROWS = 1_000
/** Enough to free the pages of a batch of deletions, too few to block the thread for long. */
const VACUUM_PAGES = 200

const KEY_TOTAL = `
  select tokens, cast(amount_units as text) as units, cast(amount_nano as text) as nano
  from key_totals where key_name = ?`
const KEY_WINDOW = `
  select cast(sum(amount_units) as text) as units, cast(sum(amount_nano) as text) as nano
  from usage_quarters where key_name = ? and quarter >= ?`
const VERSION = `select wallet_version from ledger_head`
const ADJUSTMENTS = `
  select kind, ${nameOf('ledger.tenant_id')} as tenant, cast(amount_nano as text) as nano
  from adjustments cross join ledger on ledger.id = entry_id where entry_id > ? order by entry_id`
const HOLDS = `
  select id, request_id, attempt, key_name, tenant, publication, endpoint, opened_at_ms, deadline_ms, tokens,
    input_tokens, cast(amount_nano as text) as nano, cast(input_amount_nano as text) as input_nano,
    duration_ms, characters, images, path, stream
  from open_holds`
const ORPHANED = `${HOLDS} where id <= ? and lane = ? order by id limit ${PAGE_ROWS}`
const OVERDUE = `
  ${HOLDS} where deadline_ms <= ? and lane = ? and (request_id, attempt) > (?, ?)
  order by request_id, attempt limit ${PAGE_ROWS}`
const PRUNE = `
  delete from call_logs where id in (
    select id from call_logs where at_ms < ?
      and id < (select (max(page) + 1) * ${PAGE_IDS} from call_log_pages where first_at_ms < ?) order by id limit ?)`
const FIRST_PAGE = `select coalesce(min(id), 0) / ${PAGE_IDS} from call_logs`
const PRUNE_PAGES = ['call_log_pages', 'call_log_values'].map(table => `delete from ${table} where page < ?`)
const STORED = `
  select key_name, tenant, publication, endpoint, tokens, expires_at_ms from stored_responses
  where id = ? and expires_at_ms > ?`
const PRUNE_STORED = `
  delete from stored_responses where id in (
    select id from stored_responses where expires_at_ms <= ? order by expires_at_ms limit ?)`

interface StoredRow {
  readonly key_name: string
  readonly tenant: string | null
  readonly publication: string
  readonly endpoint: string
  readonly tokens: number
  readonly expires_at_ms: number
}

interface HoldRow {
  readonly request_id: string
  readonly attempt: number
  readonly key_name: string
  readonly tenant: string | null
  readonly publication: string
  readonly endpoint: string
  readonly opened_at_ms: number
  readonly deadline_ms: number
  readonly tokens: number
  readonly input_tokens: number
  readonly nano: string
  readonly input_nano: string
  readonly duration_ms: number | null
  readonly characters: number | null
  readonly images: number | null
  readonly path: string | null
  readonly stream: number | null
}

/** All queries but the one that the writer itself carries out. */
type ReadQuery = Exclude<LedgerQuery, { readonly query: 'hold' }>

/** Answers queries on the writer's connection, so that they see everything that was committed before them. */
export class LedgerQueries {
  readonly #raw: Database.Database
  readonly #lane: number
  readonly #instances: SqliteInstances
  /** Prepared once, because a request waits for it. */
  readonly #stored: Database.Statement
  /** The last hold of earlier processes of the lane. */
  readonly #inheritedId: number
  /** The first page of the call log after the last deletion. */
  #firstPage = 0

  constructor(raw: Database.Database, lane = 0, clock: Clock = systemClock) {
    this.#raw = raw
    this.#instances = new SqliteInstances(raw, lane, clock)
    this.#lane = lane
    this.#stored = raw.prepare(STORED)
    this.#inheritedId = raw.prepare('select coalesce(max(id), 0) from open_holds').pluck().get() as number
  }

  /** @throws {Database.SqliteError} if the database cannot be read, or, for the queries that prune, not be written. */
  answer(query: ReadQuery): Answers[ReadQuery['query']] {
    const transaction = this.#raw.transaction(() => this.#answer(query))
    // What is read before a write must still be true then.
    return onceUnlocked(() => (isOfInstances(query) ? transaction.immediate() : transaction()))
  }

  #answer(query: ReadQuery): Answers[ReadQuery['query']] {
    switch (query.query) {
      case 'sums':
        return query.queries.map(query => this.#sums(query.key, query.sinceMs))
      case 'balances':
        return {
          version: this.#version(),
          balanceNano: query.tenants.map(tenant => this.#balance(tenant)),
        }
      case 'adjustments':
        return this.#adjustments(query.sinceVersion)
      case 'stored':
        return query.ids.map(id => toStored(id, this.#stored.get(id, query.nowMs) as StoredRow | undefined))
      case 'orphaned':
        return (this.#raw.prepare(ORPHANED).all(this.#inheritedId, this.#lane) as HoldRow[]).map(toHold)
      case 'overdue': {
        const { requestId = '', attempt = 0 } = query.after ?? {}
        const rows = this.#raw.prepare(OVERDUE).all(query.deadlineBeforeMs, this.#lane, requestId, attempt)
        return (rows as HoldRow[]).map(toHold)
      }
      case 'prune':
        return this.#prune(query.beforeMs, query.maxRows)
      case 'prune_stored':
        return this.#delete(PRUNE_STORED, query.nowMs, query.maxRows)
      case 'log_rejected':
        return insertRejected(this.#raw, query.calls)
      case 'nothing':
        return undefined
      case 'join':
      case 'instances':
      case 'declare':
      case 'share':
      case 'leave':
        return this.#instances.answer(query)
    }
  }

  #sums(key: string, sinceMs: number): Answers['sums'][number] {
    const total = this.#raw.prepare(KEY_TOTAL).get(key) as (NanoParts & { tokens: number }) | undefined
    const window = this.#raw.prepare(KEY_WINDOW).get(key, Math.floor(sinceMs / QUARTER_MS)) as NanoParts
    return { key, totalTokens: total?.tokens ?? 0, totalNano: toNano(total), windowNano: toNano(window) }
  }

  #balance(tenant: string): bigint {
    return toNano(this.#raw.prepare(SELECT_BALANCE).get(tenant) as NanoParts | undefined)
  }

  #version(): number {
    return this.#raw.prepare(VERSION).pluck().get() as number
  }

  #adjustments(sinceVersion: number): Answers['adjustments'] {
    const version = this.#version()
    if (version <= sinceVersion) return { version, changes: [] }
    const rows = this.#raw.prepare(ADJUSTMENTS).all(sinceVersion) as {
      readonly kind: number
      readonly tenant: string
      readonly nano: string
    }[]
    const changes = rows.map(({ kind, tenant, nano }) => ({
      tenant,
      amountNano: kind === DEBIT ? -BigInt(nano) : BigInt(nano),
    }))
    return { version, changes }
  }

  #prune(beforeMs: number, maxRows: number): number {
    pruneRejected(this.#raw, beforeMs, maxRows)
    const pruned = this.#delete(PRUNE, beforeMs, beforeMs, maxRows)
    const firstPage = this.#raw.prepare<[], number>(FIRST_PAGE).pluck().get() ?? 0
    if (firstPage > this.#firstPage)
      for (const statement of PRUNE_PAGES) this.#raw.prepare(statement).run(firstPage)
    this.#firstPage = firstPage
    return pruned
  }

  /** Deletes rows, and gives their pages back. */
  #delete(statement: string, ...parameters: readonly number[]): number {
    const { changes } = this.#raw.prepare(statement).run(...parameters)
    this.#raw.pragma(`incremental_vacuum(${VACUUM_PAGES})`)
    return changes
  }
}

function isOfInstances({ query }: ReadQuery): boolean {
  return query === 'join' || query === 'declare' || query === 'share' || query === 'leave'
}

function toStored(id: string, row: StoredRow | undefined): StoredResponse | undefined {
  return (
    row && {
      id,
      key: row.key_name,
      tenant: row.tenant ?? undefined,
      publication: row.publication,
      endpoint: row.endpoint,
      tokens: row.tokens,
      expiresAtMs: row.expires_at_ms,
    }
  )
}

function toHold(row: HoldRow): Hold {
  return {
    requestId: row.request_id,
    attempt: row.attempt,
    key: row.key_name,
    ...(row.tenant !== null && { tenant: row.tenant }),
    publication: row.publication,
    endpoint: row.endpoint,
    openedAtMs: row.opened_at_ms,
    deadlineMs: row.deadline_ms,
    amountNano: BigInt(row.nano),
    tokens: row.tokens,
    inputTokens: row.input_tokens,
    inputAmountNano: BigInt(row.input_nano),
    ...(row.duration_ms !== null && {
      inputUnits: {
        durationMs: row.duration_ms,
        characters: row.characters ?? 0,
        images: row.images ?? 0,
      },
    }),
    ...(row.path !== null && { call: { path: row.path, stream: row.stream === 1 } }),
  }
}
