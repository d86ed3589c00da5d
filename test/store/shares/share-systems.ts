import Database from 'better-sqlite3'
import { Kysely, SqliteDialect } from 'kysely'
import type * as Holders from '../../../src/limits/shares/share-holder.ts'
import { shares } from '../../../src/store/migrations/0006-shares.ts'
import type * as Grantors from '../../../src/store/shares/grantor.ts'
import type * as Rules from '../../../src/store/shares/rules.ts'
import type * as Tables from '../../../src/store/shares/sqlite-tables.ts'
import { MemoryTables } from './memory-tables.ts'
import type { ShareSystem } from './share-model.ts'

export interface ShareModules {
  readonly ShareHolder: typeof Holders.ShareHolder
  readonly Grantor: typeof Grantors.Grantor
  readonly SqliteShareTables: typeof Tables.SqliteShareTables
  readonly wantedByDebit: typeof Rules.wantedByDebit
}

/** The rules over maps. */
export function inMaps({ ShareHolder, Grantor, wantedByDebit }: ShareModules): ShareSystem {
  return {
    wantedByDebit,
    createHolder: (instance, leaseMs, tickMs) => new ShareHolder({ instance, leaseMs }, tickMs),
    createGrantor: (leaseMs, spent) => {
      const tables = new MemoryTables(spent)
      return { grantor: new Grantor(tables, { leaseMs }), tables }
    },
  }
}

/** The rules over the tables of SQLite; emptied for each history. */
export async function inSqlite({
  ShareHolder,
  Grantor,
  SqliteShareTables,
  wantedByDebit,
}: ShareModules): Promise<ShareSystem> {
  const raw = new Database(':memory:')
  await shares.up(new Kysely<never>({ dialect: new SqliteDialect({ database: raw }) }))
  raw.pragma('foreign_keys = on')
  const empty = raw.prepare('delete from shares')
  const emptyOthers = [raw.prepare('delete from scopes'), raw.prepare('delete from instances')]
  return {
    wantedByDebit,
    createHolder: (instance, leaseMs, tickMs) => new ShareHolder({ instance, leaseMs }, tickMs),
    createGrantor: (leaseMs, spent) => {
      for (const statement of [empty, ...emptyOthers]) statement.run()
      const tables = new SqliteShareTables(raw, spent)
      return { grantor: new Grantor(tables, { leaseMs }), tables }
    },
  }
}
