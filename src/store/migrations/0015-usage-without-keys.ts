import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/**
 * Sums of days that leave a part of the place out: a report of a month over many keys adds up few rows
 * (docs/decisions/0039-sums-without-keys.md).
 */
export const usageWithoutKeys: Migration = {
  async up(db: Kysely<never>) {
    for (const [table, place] of TABLES) {
      const columns = [
        ...place.map(column => `${column} ${column === 'day' ? 'integer' : 'text'} not null`),
        ...SUMS.map(column => `${column} integer not null`),
        `primary key (${place.join(', ')})`,
      ]
      await sql.raw(`create table ${table} (${columns.join(', ')}) strict, without rowid`).execute(db)
      const names = place.join(', ')
      await sql
        .raw(`insert into ${table} (${names}, ${SUMS.join(', ')})
          select ${names}, ${SUMS.map(sum => `sum(${sum})`).join(', ')} from usage_days group by ${names}`)
        .execute(db)
    }
  },
}

const TABLES = [
  ['usage_key_days', ['key_name', 'day', 'tenant']],
  ['usage_model_days', ['day', 'tenant', 'publication', 'endpoint']],
] as const

const SUMS = [
  'requests',
  'input_tokens',
  'cached_input_tokens',
  'cache_write_tokens',
  'output_tokens',
  'search_units',
  'duration_ms',
  'characters',
  'images',
  'amount_units',
  'amount_nano',
  'estimated',
  'unpriced',
]
