import type { ScopeKind, ScopeName } from '../../../schema/shares.ts'
import { type NanoParts, toNano } from '../../ledger/columns.ts'
import { QUARTER_MS } from '../../ledger/usage-sums.ts'
import type { InstanceState, ShareTables } from '../../shares/grantor.ts'
import type { ScopeState } from '../../shares/rules.ts'
import { textArray } from './array-literals.ts'
import { NOW_MS } from './clock-of-store.ts'
import type { Database } from './lane-connection.ts'

/** A scope as it was read. A change is written only if it still has this version. */
interface LoadedScope {
  readonly state: ScopeState
  readonly version: number
}

interface Loaded {
  readonly nowMs: number
  readonly instance: InstanceState | undefined
  readonly live: number
  readonly scopes: ReadonlyMap<string, LoadedScope>
  /** Of the instance, in these scopes. */
  readonly shares: ReadonlyMap<string, { readonly scope: ScopeName; readonly amount: bigint }>
  readonly wanted: readonly ScopeName[]
  readonly sums: ReadonlyMap<string, LedgerSums>
}

/** What the ledger says about the owner of a scope, as of the last fold. */
interface LedgerSums {
  readonly tokens: bigint
  readonly totalNano: bigint
  readonly windowNano: bigint
  /** Of a tenant. */
  readonly balanceNano: bigint
}

/** A scope, and the start of its window as its instance knows it. */
export interface ScopeToLoad {
  readonly name: ScopeName
  readonly sinceMs: number
}

/** The window of a sum is that of `windowStart` (shares/rules.ts). */
const LOAD = `
  with q as (select * from unnest($2::text[], $3::text[], $4::int8[]) as q (owner, limit_name, since_ms)),
  now as materialized (select ${NOW_MS} as ms),
  known as (select s.* from q join scopes s using (owner, limit_name)),
  mine as (select s.* from q join shares s on s.instance = $1 and s.owner = q.owner and s.limit_name = q.limit_name)
  select (select ms from now),
    (select json_build_object('number', number, 'expires', expires_at_ms, 'fenced', is_fenced)
      from instances where id = $1),
    (select count(*) from instances where is_fenced = 0),
    (select json_agg(json_build_array(owner, limit_name, kind, bound::text, per_minute::text, revision, since_ms,
      level::text, at_ms, leased::text, wanted::text, version)) from known),
    (select json_agg(json_build_array(owner, limit_name, amount::text)) from mine),
    (select json_agg(json_build_array(s.owner, s.limit_name)) from scopes s
      join shares h on h.instance = $1 and h.owner = s.owner and h.limit_name = s.limit_name where s.wanted <> 0),
    (select json_agg(json_build_array(owner, limit_name, t.tokens::text, t.amount_units::text, t.amount_nano::text,
        w.units::text, w.nano::text, b.balance_units::text, b.balance_nano::text))
      from (select owner, limit_name,
          case when greatest(q.since_ms, s.since_ms) <= now.ms then greatest(q.since_ms, s.since_ms)
            else least(q.since_ms, s.since_ms) end as since_ms
        from q left join scopes s using (owner, limit_name), now) o
      left join key_totals t on owner like 'key %' and t.key_name = substr(owner, 5)
      left join wallets b on owner like 'tenant %' and b.tenant = substr(owner, 8)
      left join lateral (
        select sum(amount_units) as units, sum(amount_nano) as nano from usage_quarters
        where owner like 'key %' and key_name = substr(owner, 5) and quarter >= o.since_ms / ${QUARTER_MS}) w on true)`

/**
 * The tables of the grantor, as of one moment, in memory: the grantor reads and writes them without I/O, and its changes are
 * then written in one statement, unless another gateway has changed one of the scopes meanwhile. No lock outlives a
 * statement, so a gateway that is stopped holds none.
 */
export class LoadedShareTables implements ShareTables {
  readonly nowMs: number
  readonly #id: string
  readonly #loaded: Loaded
  readonly #scopes: Map<string, ScopeState>
  readonly #shares: Map<string, { readonly scope: ScopeName; readonly amount: bigint }>
  #instance: InstanceState | undefined

  /** @param id The instance that the grantor is about to serve. */
  static async load(db: Database, id: string, scopes: readonly ScopeToLoad[]): Promise<LoadedShareTables> {
    const { rows } = await db.query(LOAD, [
      id,
      textArray(scopes.map(({ name }) => name.owner)),
      textArray(scopes.map(({ name }) => name.limit)),
      `{${scopes.map(({ sinceMs }) => sinceMs).join(',')}}`,
    ])
    return new LoadedShareTables(id, toLoaded(rows[0] as LoadedRow))
  }

  private constructor(id: string, loaded: Loaded) {
    this.nowMs = loaded.nowMs
    this.#id = id
    this.#loaded = loaded
    this.#instance = loaded.instance
    this.#scopes = new Map([...loaded.scopes].map(([key, { state }]) => [key, state]))
    this.#shares = new Map(loaded.shares)
  }

  /** Those that are not in the store yet. */
  missing(names: readonly ScopeName[]): readonly ScopeName[] {
    return names.filter(name => !this.#loaded.scopes.has(keyOf(name)))
  }

  instance(id: string): InstanceState | undefined {
    return id === this.#id ? this.#instance : undefined
  }

  saveInstance(_id: string, state: InstanceState): void {
    this.#instance = state
  }

  deleteInstance(): void {
    this.#instance = undefined
  }

  liveInstances(): number {
    return this.#loaded.live
  }

  scope(name: ScopeName): ScopeState | undefined {
    return this.#scopes.get(keyOf(name))
  }

  saveScope(name: ScopeName, state: ScopeState): void {
    this.#scopes.set(keyOf(name), state)
  }

  share(_id: string, name: ScopeName): bigint | undefined {
    return this.#shares.get(keyOf(name))?.amount
  }

  saveShare(_id: string, scope: ScopeName, amount: bigint): void {
    if (amount === 0n) this.#shares.delete(keyOf(scope))
    else this.#shares.set(keyOf(scope), { scope, amount })
  }

  sharesOf(): readonly { readonly scope: ScopeName; readonly amount: bigint }[] {
    return [...this.#shares.values()]
  }

  recalled(): readonly ScopeName[] {
    const others = this.#loaded.wanted.filter(name => !this.#scopes.has(keyOf(name)))
    const loaded = [...this.#shares].filter(([key]) => (this.#scopes.get(key)?.wanted ?? 0n) > 0n)
    return [...others, ...loaded.map(([, { scope }]) => scope)]
  }

  spent(name: ScopeName, sinceMs: number): bigint {
    const sums = this.#loaded.sums.get(keyOf(name))
    if (name.limit === 'balance') return -(sums?.balanceNano ?? 0n)
    if (sinceMs > 0) return sums?.windowNano ?? 0n
    return (name.limit === 'quota' ? sums?.tokens : sums?.totalNano) ?? 0n
  }

  /**
   * Writes what the grantor has changed. Synced, whatever the server's default is: an instance uses what it was granted, and
   * a server that had lost the grant would give it to another one.
   * @returns false if another gateway was faster: nothing was written.
   */
  async save(db: Database): Promise<boolean> {
    const before = this.#loaded.instance
    if (!before) return true
    const after = this.#instance ?? before
    const scopes = [...this.#loaded.scopes].flatMap(([key, { state: was, version }]) => {
      const state = this.#scopes.get(key)
      return state && state !== was ? [{ key, state, version }] : []
    })
    const shares = [...new Set([...this.#loaded.shares.keys(), ...this.#shares.keys()])].filter(
      key => this.#loaded.shares.get(key)?.amount !== this.#shares.get(key)?.amount,
    )
    const column = (value: (scope: (typeof scopes)[number]) => string | number | bigint) =>
      `{${scopes.map(value).join(',')}}`
    const names = (keys: readonly string[]) => {
      const parts = keys.map(key => key.split('\n'))
      return [textArray(parts.map(([owner = '']) => owner)), textArray(parts.map(([, limit = '']) => limit))]
    }
    const { rows } = await db.query(SAVE, [
      this.#id,
      before.number,
      before.isFenced ? 1 : 0,
      after.number,
      after.expiresAtMs ?? null,
      after.isFenced ? 1 : 0,
      ...names(scopes.map(({ key }) => key)),
      column(({ version }) => version),
      column(({ state }) => state.bound),
      column(({ state }) => state.perMinute),
      column(({ state }) => state.revision),
      column(({ state }) => state.sinceMs),
      column(({ state }) => state.level),
      column(({ state }) => state.atMs),
      column(({ state }) => state.leased),
      column(({ state }) => state.wanted),
      ...names(shares),
      `{${shares.map(key => this.#shares.get(key)?.amount ?? 0n).join(',')}}`,
    ])
    return (rows[0]?.[0] as number) > 0
  }
}

const SAVE = `
  with setting as materialized (select set_config('synchronous_commit', 'on', true)),
  changed as (
    select * from unnest($7::text[], $8::text[], $9::int8[], $10::numeric[], $11::numeric[], $12::int8[], $13::int8[],
      $14::numeric[], $15::int8[], $16::numeric[], $17::numeric[])
      as q (owner, limit_name, version, bound, per_minute, revision, since_ms, level, at_ms, leased, wanted)),
  locked as materialized (
    select 1 from changed q join scopes s on s.owner = q.owner and s.limit_name = q.limit_name and s.version = q.version
    order by s.owner, s.limit_name for update of s),
  me as materialized (
    select id from instances where id = $1 and number = $2 and is_fenced = $3 for no key update),
  valid as materialized (
    select id from me, setting where (select count(*) from locked) = (select count(*) from changed)),
  i as (
    update instances set number = $4, expires_at_ms = $5, is_fenced = $6 from valid where instances.id = valid.id),
  s as (
    update scopes s set bound = q.bound, per_minute = q.per_minute, revision = q.revision, since_ms = q.since_ms,
      level = q.level, at_ms = q.at_ms, leased = q.leased, wanted = q.wanted, version = q.version + 1
    from valid, changed q where s.owner = q.owner and s.limit_name = q.limit_name),
  share as (select * from unnest($18::text[], $19::text[], $20::numeric[]) as q (owner, limit_name, amount)),
  gone as (
    delete from shares using valid, share
    where shares.instance = valid.id and shares.owner = share.owner and shares.limit_name = share.limit_name
      and share.amount = 0),
  kept as (
    insert into shares (instance, owner, limit_name, amount)
    select valid.id, owner, limit_name, amount from valid, share where amount > 0
    on conflict (instance, owner, limit_name) do update set amount = excluded.amount)
  select count(*) from valid`

/** Makes scopes that no instance has used before. */
export async function insertScopes(
  db: Database,
  scopes: readonly { readonly name: ScopeName; readonly state: ScopeState }[],
): Promise<void> {
  const column = (value: (state: ScopeState) => string | number | bigint) =>
    `{${scopes.map(({ state }) => value(state)).join(',')}}`
  await db.query(
    `insert into scopes (owner, limit_name, kind, bound, per_minute, revision, since_ms, level, at_ms, leased, wanted, version)
     select q.*, 0, 1 from unnest($1::text[], $2::text[], $3::text[], $4::numeric[], $5::numeric[], $6::int8[], $7::int8[],
       $8::numeric[], $9::int8[], $10::numeric[]) as q
     order by 1, 2 on conflict do nothing`,
    [
      textArray(scopes.map(({ name }) => name.owner)),
      textArray(scopes.map(({ name }) => name.limit)),
      column(({ kind }) => kind),
      column(({ bound }) => bound),
      column(({ perMinute }) => perMinute),
      column(({ revision }) => revision),
      column(({ sinceMs }) => sinceMs),
      column(({ level }) => level),
      column(({ atMs }) => atMs),
      column(({ leased }) => leased),
    ],
  )
}

/** No name contains a line break (schema/scalars.ts). */
function keyOf({ owner, limit }: ScopeName): string {
  return `${owner}\n${limit}`
}

type LoadedRow = readonly [
  nowMs: number,
  instance: string | null,
  live: number,
  scopes: string | null,
  shares: string | null,
  wanted: string | null,
  sums: string | null,
]
type ScopeRow = readonly [
  owner: string,
  limit: string,
  kind: ScopeKind,
  bound: string,
  perMinute: string,
  revision: number,
  sinceMs: number,
  level: string,
  atMs: number,
  leased: string,
  wanted: string,
  version: number,
]

function toLoaded([nowMs, instance, live, scopes, shares, wanted, sums]: LoadedRow): Loaded {
  return {
    nowMs,
    instance: toInstance(instance),
    live,
    scopes: new Map(
      parse<ScopeRow>(scopes).map(([owner, limit, kind, bound, perMinute, revision, sinceMs, ...more]) => {
        const [level, atMs, leased, open, version] = more
        const state = {
          kind,
          bound: BigInt(bound),
          perMinute: BigInt(perMinute),
          revision,
          sinceMs,
          level: BigInt(level),
          atMs,
          leased: BigInt(leased),
          wanted: BigInt(open),
        }
        return [keyOf({ owner, limit }), { state, version }]
      }),
    ),
    shares: new Map(
      parse<[string, string, string]>(shares).map(([owner, limit, amount]) => [
        keyOf({ owner, limit }),
        { scope: { owner, limit }, amount: BigInt(amount) },
      ]),
    ),
    wanted: parse<[string, string]>(wanted).map(([owner, limit]) => ({ owner, limit })),
    sums: new Map(parse<SumsRow>(sums).map(row => [keyOf({ owner: row[0], limit: row[1] }), toSums(row)])),
  }
}

type SumsRow = readonly [owner: string, limit: string, tokens: string | null, ...amounts: (string | null)[]]

function toSums([, , tokens, units, nano, windowUnits, windowNano, ...balance]: SumsRow): LedgerSums {
  const parts = (units?: string | null, nano?: string | null): NanoParts => ({
    units: units ?? null,
    nano: nano ?? null,
  })
  return {
    tokens: BigInt(tokens ?? 0),
    totalNano: toNano(parts(units, nano)),
    windowNano: toNano(parts(windowUnits, windowNano)),
    balanceNano: toNano(parts(...balance)),
  }
}

function toInstance(json: string | null): InstanceState | undefined {
  if (json === null) return undefined
  const row = JSON.parse(json) as { number: number; expires: number | null; fenced: number }
  return { number: row.number, expiresAtMs: row.expires ?? undefined, isFenced: row.fenced === 1 }
}

function parse<Row>(json: string | null): Row[] {
  return JSON.parse(json ?? '[]') as Row[]
}
