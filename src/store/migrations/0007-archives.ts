import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/**
 * The archives: files that have the entries of calls up to `last_id`. The ledger may delete those, and nothing else.
 * `archived_usage` has the sums of each archive, so that the ledger adds up without the files.
 */
export const archives: Migration = {
  async up(db: Kysely<never>) {
    for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
  },
}

const STATEMENTS = [
  `create table archives (
    id integer primary key,
    before_ms integer not null,
    first_id integer not null unique,
    last_id integer not null check (last_id >= first_id),
    entries integer not null,
    file text not null,
    bytes integer not null,
    sha256 text not null unique check (length(sha256) = 64 and sha256 not glob '*[^0-9a-f]*'),
    archived_at_ms integer not null
  ) strict`,
  `create table archived_usage (
    archive_id integer not null references archives (id),
    key_name text not null,
    tenant text not null,
    publication text not null,
    endpoint text not null,
    requests integer not null,
    input_tokens integer not null,
    cached_input_tokens integer not null,
    cache_write_tokens integer not null,
    output_tokens integer not null,
    search_units integer not null,
    duration_ms integer not null,
    characters integer not null,
    images integer not null,
    amount_units integer not null,
    amount_nano integer not null,
    estimated integer not null,
    unpriced integer not null,
    primary key (archive_id, key_name, tenant, publication, endpoint)
  ) strict, without rowid`,
  ...['archives', 'archived_usage'].flatMap(table =>
    ['update', 'delete'].map(
      change => `create trigger ${table}_is_not_${change}d before ${change} on ${table}
        begin select raise(abort, 'archives are append-only'); end`,
    ),
  ),
  `drop trigger ledger_is_not_deleted`,
  `create trigger ledger_is_not_deleted before delete on ledger
    when old.kind > 1 or old.id > (select coalesce(max(last_id), 0) from archives)
    begin select raise(abort, 'the ledger is append-only'); end`,
]
