import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import { text } from './definitions.ts'
import { SUM_COLUMNS } from './ledger-tables.ts'

/** As in SQLite: sums of days that leave a part of the place out. */
export const usageWithoutKeys: Migration = {
  async up(db: Kysely<never>) {
    for (const [table, place] of TABLES) {
      const columns = [
        ...place.map(column => `${column} ${column === 'day' ? 'bigint' : text} not null`),
        ...SUM_COLUMNS.map(column => `${column} bigint not null`),
        `primary key (${place.join(', ')})`,
      ]
      await sql.raw(`create table ${table} (${columns.join(', ')})`).execute(db)
      const names = place.join(', ')
      await sql
        .raw(`insert into ${table} (${names}, ${SUM_COLUMNS.join(', ')})
          select ${names}, ${SUM_COLUMNS.map(sum => `sum(${sum})`).join(', ')} from usage_days group by ${names}`)
        .execute(db)
    }
  },
}

const TABLES = [
  ['usage_key_days', ['key_name', 'day', 'tenant']],
  ['usage_model_days', ['day', 'tenant', 'publication', 'endpoint']],
] as const
