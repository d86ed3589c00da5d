import type Database from 'better-sqlite3'
import type { Clock } from '../../base/clock.ts'
import type { ScopeName, SharedLimit } from '../../schema/shares.ts'
import { DELETE_GATEWAY } from '../gateways.ts'
import { type NanoParts, toNano } from '../ledger/columns.ts'
import { SELECT_BALANCE } from '../ledger/statements.ts'
import { QUARTER_MS } from '../ledger/usage-sums.ts'
import { Grantor } from './grantor.ts'
import type { Instance, InstanceAnswers, InstanceQuery, Joined } from './instance-queries.ts'
import { usageOf } from './rules.ts'
import { SqliteShareTables } from './sqlite-tables.ts'

const KEY_TOTAL = `
  select cast(tokens as text) as tokens, cast(amount_units as text) as units, cast(amount_nano as text) as nano
  from key_totals where key_name = ?`
const KEY_WINDOW = `
  select cast(sum(amount_units) as text) as units, cast(sum(amount_nano) as text) as nano
  from usage_quarters where key_name = ? and quarter >= ?`

/** Queries of one lane about the gateways of a store and their shares. */
export class SqliteInstances {
  readonly #raw: Database.Database
  readonly #lane: number
  readonly #clock: Clock
  readonly #tables: SqliteShareTables
  readonly #grantor: Grantor
  #id = ''

  constructor(raw: Database.Database, lane: number, clock: Clock) {
    this.#raw = raw
    this.#lane = lane
    this.#clock = clock
    this.#tables = new SqliteShareTables(raw, spentIn(raw))
    // The lease of a lane ends with its process, and with nothing else.
    this.#grantor = new Grantor(this.#tables, { leaseMs: undefined })
  }

  /** Runs in a transaction that holds the write lock. */
  answer(query: InstanceQuery): InstanceAnswers[InstanceQuery['query']] {
    switch (query.query) {
      case 'join':
        return this.#join(query.isShared)
      case 'instances':
        return { instances: this.#instances(), recalled: this.#tables.recalled(this.#id) }
      case 'declare':
        this.#grantor.declare(this.#id, query.shares, this.#clock.nowMs())
        this.#raw.prepare('update instances set is_whole = 0 where id = ?').run(this.#id)
        return undefined
      case 'share':
        return this.#grantor.apply(query.message, this.#clock.nowMs())
      case 'leave':
        this.#leaveLane()
        return undefined
    }
  }

  #join(isShared: boolean): Joined {
    this.#leaveLane()
    const isWhole = !isShared && this.#instances().length === 0
    if (isWhole) this.#raw.exec('delete from scopes')
    const instance = this.#raw.prepare<[], string>('select lower(hex(randomblob(8)))').pluck().get() as string
    this.#grantor.join(instance, this.#clock.nowMs())
    this.#raw
      .prepare('update instances set lane = ?, is_whole = ? where id = ?')
      .run(this.#lane, isWhole ? 1 : 0, instance)
    this.#id = instance
    return { instance, isWhole }
  }

  /** Removes earlier instances of this lane. The caller has its lease, so they have ended, and so have their holds. */
  #leaveLane(): void {
    for (const { id, lane } of this.#instances())
      if (lane === this.#lane) {
        this.#grantor.leave(id, this.#clock.nowMs())
        // A killed gateway did not delete its own row.
        for (const statement of DELETE_GATEWAY) this.#raw.prepare(statement).run(id)
      }
  }

  #instances(): readonly Instance[] {
    const rows = this.#raw.prepare('select id, lane, is_whole from instances order by lane').all() as {
      readonly id: string
      readonly lane: number
      readonly is_whole: number
    }[]
    return rows.map(({ id, lane, is_whole }) => ({ id, lane, isWhole: is_whole === 1 }))
  }
}

/** The use of the limits of these owners, such as `key crm`, over all gateways. Read-only. */
export function sharedLimits(
  raw: Database.Database,
  owners: readonly string[],
  nowMs: number,
): readonly SharedLimit[] {
  const spent = spentIn(raw)
  const tables = new SqliteShareTables(raw, spent)
  const limitsOf = raw.prepare<[string], string>('select limit_name from scopes where owner = ?').pluck()
  return owners.flatMap(owner =>
    limitsOf.all(owner).flatMap(limit => {
      const scope = { owner, limit }
      const state = tables.scope(scope)
      return state
        ? { scope, ...usageOf(state, state.kind === 'sum' ? spent(scope, state.sinceMs) : 0n, nowMs) }
        : []
    }),
  )
}

/** Reads the spent amount of limits of kind `sum`: tokens, or nano-units of the currency. */
function spentIn(raw: Database.Database): (name: ScopeName, sinceMs: number) => bigint {
  const total = raw.prepare(KEY_TOTAL)
  const window = raw.prepare(KEY_WINDOW)
  const balance = raw.prepare(SELECT_BALANCE)
  return ({ owner, limit }, sinceMs) => {
    if (limit === 'balance')
      return -toNano(balance.get(owner.slice('tenant '.length)) as NanoParts | undefined)
    const key = owner.slice('key '.length)
    if (sinceMs > 0) return toNano(window.get(key, Math.floor(sinceMs / QUARTER_MS)) as NanoParts)
    const sums = total.get(key) as (NanoParts & { readonly tokens: string }) | undefined
    return limit === 'quota' ? BigInt(sums?.tokens ?? 0) : toNano(sums)
  }
}
