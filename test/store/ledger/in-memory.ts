import Database from 'better-sqlite3'
import { Kysely, SqliteDialect } from 'kysely'
import { systemClock } from '../../../src/base/clock.ts'
import { SqliteAccounting } from '../../../src/store/ledger/accounting.ts'
import { LedgerRows } from '../../../src/store/ledger/ledger-rows.ts'
import { LedgerQueries } from '../../../src/store/ledger/queries.ts'
import { MIGRATIONS } from '../../../src/store/migrations/list.ts'
import type { Tables } from '../../../src/store/tables.ts'

const empty = await emptyDatabase()

/** The ledger's tables in memory, without a thread: what writes, what answers, and what people ask. */
export function inMemory(nowMs: () => number) {
  const raw = new Database(empty)
  const db = new Kysely<Tables>({ dialect: new SqliteDialect({ database: raw }) })
  const inTransaction = <T>(work: (db: Kysely<Tables>) => Promise<T>) => db.transaction().execute(work)
  return {
    raw,
    /** From now on the tenant pays beforehand. */
    prepaid: (tenant: string) =>
      raw.prepare(`update resources set spec = '{"billing":"prepaid"}' where name = ?`).run(tenant),
    book: new LedgerRows(raw),
    questions: new LedgerQueries(raw),
    accounting: new SqliteAccounting({
      read: inTransaction,
      readBare: work => work(raw),
      write: inTransaction,
      writeBare: async work => raw.transaction(() => work(raw))(),
      clock: { ...systemClock, nowMs },
    }),
  }
}

/** Migrating takes longer than most runs of a property, so it is done once. */
async function emptyDatabase(): Promise<Buffer> {
  const raw = new Database(':memory:')
  const db = new Kysely<never>({ dialect: new SqliteDialect({ database: raw }) })
  for (const migration of Object.values(MIGRATIONS)) await migration.up(db)
  raw.exec(`
    insert into revisions (id, base, origin, created_at_ms, counts) values (1, 0, 'cli', 0, '{}');
    insert into resources (kind, name, spec, owner, created_revision, updated_revision, created_at_ms)
    select 'tenant', value, '{}', 'cli', 1, 1, 0 from json_each('["acme", "beta"]')`)
  return raw.serialize()
}
