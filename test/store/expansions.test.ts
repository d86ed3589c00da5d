import Database from 'better-sqlite3'
import { Kysely, SqliteDialect, sql } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { takeLease } from '../../src/store/ledger/lease.ts'
import { MIGRATIONS } from '../../src/store/migrations/list.ts'
import { isExpansion } from '../../src/store/migrations/names.ts'
import { openStore } from '../../src/store/open.ts'
import { tempDir } from '../support/temp-dir.ts'

interface Column {
  readonly name: string
  readonly type: string
  readonly notnull: number
  readonly dflt_value: string | null
  readonly pk: number
}

/** The schema: the columns of each table, and the text of everything else with its table. */
function schemaOf(raw: Database.Database) {
  const rows = raw
    .prepare('select type, name, tbl_name as tableName, sql from sqlite_schema where sql is not null')
    .all() as { type: string; name: string; tableName: string; sql: string }[]
  const tables = new Map<string, readonly Column[]>()
  const others = new Map<string, { tableName: string; sql: string }>()
  for (const { type, name, tableName, sql: text } of rows) {
    if (type === 'table') tables.set(name, raw.pragma(`table_xinfo("${name}")`) as Column[])
    else others.set(`${type} ${name}`, { tableName, sql: text })
  }
  return { tables, others }
}

/** Why gateways of the version before could not go on beside a migration; none: they can. */
async function obstacles(before: readonly Migration[], migration: Migration): Promise<string[]> {
  const raw = new Database(':memory:')
  const db = new Kysely<never>({ dialect: new SqliteDialect({ database: raw }) })
  try {
    for (const earlier of before) await earlier.up(db)
    const old = schemaOf(raw)
    const written = raw.prepare('select total_changes()').pluck()
    const writes = written.get() as number
    await migration.up(db)
    const found: string[] = []
    if ((written.get() as number) !== writes) found.push('writes rows')
    const now = schemaOf(raw)
    for (const [table, columns] of old.tables) {
      const after = now.tables.get(table)
      if (!after) {
        found.push(`drops ${table}`)
        continue
      }
      const kept = after.slice(0, columns.length).map(column => JSON.stringify(column))
      if (columns.some((column, index) => kept[index] !== JSON.stringify(column)))
        found.push(`changes ${table}`)
      for (const { name, notnull, dflt_value } of after.slice(columns.length))
        if (notnull === 1 && dflt_value === null) found.push(`${table}.${name} must have a value`)
    }
    for (const [name, { sql: text }] of old.others)
      if (now.others.get(name)?.sql !== text) found.push(`changes ${name}`)
    for (const [name, { tableName }] of now.others)
      if (!old.others.has(name) && old.tables.has(tableName)) found.push(`${name} is on ${tableName}`)
    return found
  } finally {
    await db.destroy()
  }
}

const ALL = Object.entries<Migration>(MIGRATIONS)
const trial = (...statements: readonly string[]): Migration => ({
  async up(db: Kysely<never>) {
    for (const statement of statements) await sql.raw(statement).execute(db)
  },
})

test('each migration that is named an expansion only adds', async () => {
  for (const [index, [name, migration]] of ALL.entries()) {
    if (!isExpansion(name)) continue
    const before = ALL.slice(0, index).map(([, earlier]) => earlier)
    expect(await obstacles(before, migration), name).toEqual([])
  }
})

test.each([
  ['alter table call_logs add column trial integer', []],
  ["alter table call_logs add column trial text not null default ''", []],
  ['create table trial (id integer primary key, name text unique) strict', []],
  ['create table trial (id integer) strict\ncreate index trial_by_id on trial (id)', []],
  ['alter table call_logs drop column reason', ['changes call_logs']],
  ['alter table call_logs rename column reason to cause', ['changes call_logs']],
  ['drop table usage_days', ['drops usage_days', 'changes index usage_days_by_time']],
  ['create unique index trial on wallets (balance_nano)', ['index trial is on wallets']],
  ['create trigger trial before insert on ledger begin select 1; end', ['trigger trial is on ledger']],
  ['drop trigger ledger_is_not_updated', ['changes trigger ledger_is_not_updated']],
  ['update ledger_head set open_holds = 0', ['writes rows']],
])('%s: %j', async (statements, expected) => {
  const before = ALL.map(([, migration]) => migration)
  expect(await obstacles(before, trial(...statements.split('\n')))).toEqual(expected)
})

test('a store with an expansion of a later version is opened; with another migration it is too new', async () => {
  const folder = tempDir(onTestFinished)
  const options = { clock: systemClock, folder: folder.path }
  await (await openStore('sqlite:gw.db', { ...options, mode: 'create' })).close()
  const record = (name: string) => {
    const raw = new Database(folder.at('gw.db'))
    raw.prepare(`insert into kysely_migration (name, timestamp) values (?, '')`).run(name)
    raw.close()
  }
  record('9998-trial-expand')
  for (const mode of ['read', 'write'] as const)
    await (await openStore('sqlite:gw.db', { ...options, mode })).close()
  record('9999-trial')
  await expect(openStore('sqlite:gw.db', { ...options, mode: 'read' })).rejects.toMatchObject({
    code: 'store_too_new',
  })
})

test('what a gateway serves is not converted by anything but expansions', async () => {
  const folder = tempDir(onTestFinished)
  const raw = new Database(folder.at('gw.db'))
  const db = new Kysely<never>({ dialect: new SqliteDialect({ database: raw }) })
  const [first] = ALL
  if (!first) throw new Error('there is no migration')
  const provider = { getMigrations: async () => ({ [first[0]]: first[1] }) }
  await new Migrator({ db, provider }).migrateToLatest()
  await db.destroy()
  const lease = takeLease(folder.at('gw.db'), 1)
  const open = () => openStore('sqlite:gw.db', { clock: systemClock, folder: folder.path, mode: 'write' })
  await expect(open()).rejects.toMatchObject({ code: 'store_in_use' })
  lease.release()
  await (await open()).close()
})
