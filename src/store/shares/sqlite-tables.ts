import type Database from 'better-sqlite3'
import type { ScopeName } from '../../schema/shares.ts'
import type { InstanceState, ShareTables } from './grantor.ts'
import type { ScopeState } from './rules.ts'
import { type ScopeRow, toScopeState } from './scope-row.ts'

const SELECT_INSTANCE = `select number, expires_at_ms, is_fenced from instances where id = ?`
const SAVE_INSTANCE = `
  insert into instances (id, number, expires_at_ms, is_fenced) values (?, ?, ?, ?)
  on conflict (id) do update set
    number = excluded.number, expires_at_ms = excluded.expires_at_ms, is_fenced = excluded.is_fenced`
const DELETE_INSTANCE = `delete from instances where id = ?`
const COUNT_LIVE = `select count(*) from instances where is_fenced = 0`
const SELECT_SCOPE = `
  select kind, bound, per_minute, revision, since_ms, level, at_ms, leased, wanted
  from scopes where owner = ? and limit_name = ?`
const SAVE_SCOPE = `
  insert into scopes (owner, limit_name, kind, bound, per_minute, revision, since_ms, level, at_ms, leased, wanted)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  on conflict (owner, limit_name) do update set
    bound = excluded.bound, per_minute = excluded.per_minute, revision = excluded.revision,
    since_ms = excluded.since_ms, level = excluded.level, at_ms = excluded.at_ms, leased = excluded.leased,
    wanted = excluded.wanted`
const SELECT_SHARE = `select amount from shares where instance = ? and owner = ? and limit_name = ?`
const SAVE_SHARE = `
  insert into shares (instance, owner, limit_name, amount) values (?, ?, ?, ?)
  on conflict (instance, owner, limit_name) do update set amount = excluded.amount`
const DELETE_SHARE = `delete from shares where instance = ? and owner = ? and limit_name = ?`
const SELECT_SHARES = `select owner, limit_name, amount from shares where instance = ?`
/** From the few scopes that are wanted to the shares, never the other way. */
const SELECT_RECALLED = `
  select scopes.owner, scopes.limit_name from scopes cross join shares
    on shares.instance = ? and shares.owner = scopes.owner and shares.limit_name = scopes.limit_name
  where scopes.wanted <> '0'`

interface NameRow {
  readonly owner: string
  readonly limit_name: string
}

/** The tables of the grantor in SQLite. Each call of the grantor must run in a transaction with the write lock. */
export class SqliteShareTables implements ShareTables {
  readonly #instance: Database.Statement
  readonly #saveInstance: Database.Statement
  readonly #deleteInstance: Database.Statement
  readonly #countLive: Database.Statement
  readonly #scope: Database.Statement
  readonly #saveScope: Database.Statement
  readonly #share: Database.Statement
  readonly #saveShare: Database.Statement
  readonly #deleteShare: Database.Statement
  readonly #shares: Database.Statement
  readonly #recalled: Database.Statement
  readonly #spent: ShareTables['spent']

  /** @param spent The sums of the ledger, on the same connection. */
  constructor(raw: Database.Database, spent: ShareTables['spent']) {
    this.#instance = raw.prepare(SELECT_INSTANCE)
    this.#saveInstance = raw.prepare(SAVE_INSTANCE)
    this.#deleteInstance = raw.prepare(DELETE_INSTANCE)
    this.#countLive = raw.prepare(COUNT_LIVE).pluck()
    this.#scope = raw.prepare(SELECT_SCOPE)
    this.#saveScope = raw.prepare(SAVE_SCOPE)
    this.#share = raw.prepare(SELECT_SHARE).pluck()
    this.#saveShare = raw.prepare(SAVE_SHARE)
    this.#deleteShare = raw.prepare(DELETE_SHARE)
    this.#shares = raw.prepare(SELECT_SHARES)
    this.#recalled = raw.prepare(SELECT_RECALLED)
    this.#spent = spent
  }

  instance(id: string): InstanceState | undefined {
    const row = this.#instance.get(id) as
      | { readonly number: number; readonly expires_at_ms: number | null; readonly is_fenced: number }
      | undefined
    return (
      row && {
        number: row.number,
        expiresAtMs: row.expires_at_ms ?? undefined,
        isFenced: row.is_fenced === 1,
      }
    )
  }

  saveInstance(id: string, { number, expiresAtMs, isFenced }: InstanceState): void {
    this.#saveInstance.run(id, number, expiresAtMs ?? null, isFenced ? 1 : 0)
  }

  deleteInstance(id: string): void {
    this.#deleteInstance.run(id)
  }

  liveInstances(): number {
    return this.#countLive.get() as number
  }

  scope({ owner, limit }: ScopeName): ScopeState | undefined {
    const row = this.#scope.get(owner, limit) as ScopeRow | undefined
    return row && toScopeState(row)
  }

  saveScope({ owner, limit }: ScopeName, state: ScopeState): void {
    this.#saveScope.run(
      owner,
      limit,
      state.kind,
      String(state.bound),
      String(state.perMinute),
      state.revision,
      state.sinceMs,
      String(state.level),
      state.atMs,
      String(state.leased),
      String(state.wanted),
    )
  }

  share(id: string, { owner, limit }: ScopeName): bigint | undefined {
    const amount = this.#share.get(id, owner, limit) as string | undefined
    return amount === undefined ? undefined : BigInt(amount)
  }

  saveShare(id: string, { owner, limit }: ScopeName, amount: bigint): void {
    if (amount === 0n) this.#deleteShare.run(id, owner, limit)
    else this.#saveShare.run(id, owner, limit, String(amount))
  }

  sharesOf(id: string): { readonly scope: ScopeName; readonly amount: bigint }[] {
    const rows = this.#shares.all(id) as (NameRow & { readonly amount: string })[]
    return rows.map(({ amount, ...name }) => ({ scope: toName(name), amount: BigInt(amount) }))
  }

  recalled(id: string): readonly ScopeName[] {
    return (this.#recalled.all(id) as NameRow[]).map(toName)
  }

  spent(name: ScopeName, sinceMs: number): bigint {
    return this.#spent(name, sinceMs)
  }
}

function toName({ owner, limit_name: limit }: NameRow): ScopeName {
  return { owner, limit }
}
