import { type Kysely, sql } from 'kysely'
import type { LedgerDialect } from '../../ledger/dialect.ts'
import type { Tables } from '../../tables.ts'
import type { Database, Value } from './lane-connection.ts'
import { LOCK_LEDGER, Partitions } from './partitions.ts'
import { requestIdOf, toRequestBytes } from './request-id.ts'

export const POSTGRES_LEDGER: LedgerDialect = {
  requestIdOf,
  toRequest: toRequestBytes,
  textTable: texts => sql`json_array_elements_text(${JSON.stringify(texts)}::json) as texts (value)`,
  hasLogPages: false,
  async lockBalance(db, tenant, nowMs) {
    await new Partitions().ensure(inTransaction(db), 'ledger', [nowMs])
    await sql`insert into wallets (tenant, balance_units, balance_nano) values (${tenant}, 0, 0)
      on conflict do nothing`.execute(db)
    // Folds of other gateways wait, and add their charges to what is written here.
    await sql`select 1 from wallets where tenant = ${tenant} for update`.execute(db)
    // What the grantor has read of the scope is out of date with that.
    await sql`insert into scopes as s (owner, limit_name, kind, bound, per_minute, revision, since_ms, level, at_ms,
        leased, wanted, version)
      values (${`tenant ${tenant}`}, 'balance', 'sum', 0, 0, 0, 0, 0, ${nowMs}, 0, 0, 1)
      on conflict (owner, limit_name) do update set version = s.version + 1`.execute(db)
  },
  async lockEntries(db) {
    await sql.raw(LOCK_LEDGER).execute(db)
  },
  adjustmentColumns: nowMs => ({ opened_at_ms: nowMs }),
}

function inTransaction(db: Kysely<Tables>): Database {
  return {
    async query(text: string, values: readonly Value[] = []) {
      const parts = text.split(/\$\d+/)
      const query = sql.join(
        parts.map((part, at) => (at === 0 ? sql.raw(part) : sql`${values[at - 1]}${sql.raw(part)}`)),
        sql``,
      )
      const { rows, numAffectedRows } = await query.execute(db)
      return { rows: rows.map(row => Object.values(row as object)), count: Number(numAffectedRows ?? 0) }
    },
  }
}
