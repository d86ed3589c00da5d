import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/** The usage of whole days in UTC, so that a report of a month need not add up each quarter of an hour. */
export const usageDays: Migration = {
  async up(db: Kysely<never>) {
    const columns = SUMS.map(column => `${column} integer not null`).join(', ')
    await sql
      .raw(`create table usage_days (
        key_name text not null,
        day integer not null,
        tenant text not null,
        publication text not null,
        endpoint text not null,
        ${columns},
        primary key (key_name, day, tenant, publication, endpoint)
      ) strict, without rowid`)
      .execute(db)
    await sql
      .raw(`insert into usage_days
        select key_name, quarter / 96, tenant, publication, endpoint, ${SUMS.map(sum => `sum(${sum})`).join(', ')}
        from usage_quarters group by 1, 2, 3, 4, 5`)
      .execute(db)
    await sql`create index usage_days_by_time on usage_days (day)`.execute(db)
  },
}

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
