import Database from 'better-sqlite3'
import { Kysely, SqliteDialect } from 'kysely'
import { Migrator } from 'kysely/migration'
import { baseline } from '../../src/store/migrations/0001-baseline.ts'

/** A store as the first gw made it: with the first migration alone, and these rows. */
export async function makeBaselineStore(path: string, rows = ''): Promise<void> {
  const raw = new Database(path)
  const db = new Kysely<never>({ dialect: new SqliteDialect({ database: raw }) })
  const provider = { getMigrations: async () => ({ '0001-baseline': baseline }) }
  const { error } = await new Migrator({ db, provider }).migrateToLatest()
  if (error !== undefined) throw error as Error
  raw.exec(rows)
  await db.destroy()
}
