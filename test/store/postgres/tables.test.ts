import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { MIGRATIONS } from '../../../src/store/migrations/list.ts'
import { openStore } from '../../../src/store/open.ts'
import { storeDatabase } from '../../support/postgres.ts'
import { tempDir } from '../../support/temp-dir.ts'

/** Tables that the ledger has on one engine only: see docs/decisions/0031-compact-ledger.md and 0037. */
const OF_THE_LEDGER =
  /^(adjustments|archive|call_log|holds|instances|journal|ledger|older_holds|open_holds|rejected_calls|scopes|shares|stored_responses|wallets|key_totals)/

test('the control plane and the sums of usage have the same tables and columns on both engines', async () => {
  const folder = tempDir(onTestFinished)
  await (await openStore('sqlite:gw.db', { mode: 'create', clock: systemClock, folder: folder.path })).close()
  const raw = new Database(folder.at('gw.db'), { readonly: true })
  onTestFinished(() => void raw.close())
  const inSqlite = raw
    .prepare(
      `select t.name || '.' || c.name from sqlite_schema t, pragma_table_info(t.name) c where t.type = 'table'`,
    )
    .pluck()
    .all() as string[]

  const database = await storeDatabase(onTestFinished)
  const rows = await database.query<{ name: string }>(
    `select table_name || '.' || column_name as name from information_schema.columns
      where table_schema = 'public' and table_name in (select tablename from pg_tables)`,
  )
  const ofControlPlane = (names: readonly string[]) =>
    names.filter(name => !OF_THE_LEDGER.test(name) && !/^(kysely|sqlite)_/.test(name)).sort()
  expect(Object.keys(MIGRATIONS).length).toBeGreaterThan(13)
  expect(ofControlPlane(rows.map(({ name }) => name))).toEqual(ofControlPlane(inSqlite))
})

test('every text of the control plane sorts by bytes', async () => {
  const database = await storeDatabase(onTestFinished)
  const rows = await database.query<{ name: string }>(
    `select table_name || '.' || column_name as name from information_schema.columns
      where table_schema = 'public' and data_type = 'text' and collation_name is distinct from 'C'
        and table_name in (select tablename from pg_tables)`,
  )
  const others = rows
    .map(({ name }) => name)
    .filter(name => !OF_THE_LEDGER.test(name) && !name.startsWith('kysely_'))
  expect(others).toEqual([])
})
