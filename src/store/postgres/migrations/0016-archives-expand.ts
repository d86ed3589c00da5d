import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import { isAppendOnly, text } from './definitions.ts'
import { SUM_COLUMNS } from './ledger-tables.ts'

/**
 * As migration 0007 of SQLite, except that ranges of ids may overlap: an archive has whole months of holds, and ids are in the
 * order of ends.
 */
export const archives: Migration = {
  async up(db: Kysely<never>) {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
  },
}

const STATEMENTS = [
  `create table archives (
    id bigint primary key,
    before_ms bigint not null,
    first_id bigint not null,
    last_id bigint not null check (last_id >= first_id),
    entries bigint not null,
    file ${text} not null,
    bytes bigint not null,
    sha256 ${text} not null unique check (length(sha256) = 64),
    archived_at_ms bigint not null
  )`,
  `create table archived_usage (
    archive_id bigint not null references archives (id),
    key_name ${text} not null,
    tenant ${text} not null,
    publication ${text} not null,
    endpoint ${text} not null,
    ${SUM_COLUMNS.map(column => `${column} bigint not null`).join(', ')},
    primary key (archive_id, key_name, tenant, publication, endpoint)
  )`,
  ...['archives', 'archived_usage'].map(table => isAppendOnly(table, 'archives are append-only')),
]
