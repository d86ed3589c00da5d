import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/**
 * The ledger, the sums that are kept beside it in the same transactions, and the call log.
 *
 * An entry's `amount_nano` is one integer. A sum of many may pass 64 bits (in a currency of small units a life's
 * spending does), so sums are two columns, whole units and the rest in nano-units, added up separately. No answer
 * has 10^12 tokens: one that says so is refused here, before it can spoil a sum.
 */
export const ledger: Migration = {
  async up(db: Kysely<never>) {
    for (const statement of STATEMENTS) await statement.execute(db)
  },
}

const STATEMENTS: readonly RawBuilder<unknown>[] = [
  // `kind` is compared one by one: SQLite builds a list of more than two as a table, for every row (3 µs of each).
  sql`create table ledger (
    id integer primary key,
    kind text not null,
    at_ms integer not null,
    request_id text,
    attempt integer,
    key_name text,
    tenant text,
    publication text,
    endpoint text,
    amount_nano integer not null check (amount_nano >= 0 or kind = 'adjust'),
    tokens integer,
    input_tokens integer check (input_tokens between 0 and 1000000000000),
    cached_input_tokens integer check (cached_input_tokens between 0 and 1000000000000),
    cache_write_tokens integer check (cache_write_tokens between 0 and 1000000000000),
    output_tokens integer check (output_tokens between 0 and 1000000000000),
    search_units integer check (search_units between 0 and 1000000000000),
    input_amount_nano integer,
    deadline_ms integer,
    marks text,
    reason text,
    reference text,
    note text,
    author text,
    check (case
      when kind = 'hold' or kind = 'settle' or kind = 'release' then request_id is not null and attempt is not null
        and key_name is not null and publication is not null and endpoint is not null
      when kind = 'credit' or kind = 'debit' or kind = 'adjust' then reference is not null and tenant is not null
        and request_id is null
      else 0 end)
  ) strict`,
  // One hold for each attempt, and one end, whatever its kind.
  sql`create unique index ledger_once on ledger (request_id, attempt, kind = 'hold')
    where request_id is not null`,
  sql`create unique index ledger_references on ledger (tenant, reference) where reference is not null`,
  sql`create index ledger_adjustments on ledger (id) where reference is not null`,
  sql`create index ledger_by_tenant on ledger (tenant, id)
    where tenant is not null and kind not in ('hold', 'release')`,
  sql`create trigger ledger_is_not_updated before update on ledger
    begin select raise(abort, 'the ledger is append-only'); end`,
  sql`create trigger ledger_is_not_deleted before delete on ledger
    begin select raise(abort, 'the ledger is append-only'); end`,
  // Without this one `insert or replace` would rewrite history: it deletes without firing delete triggers.
  sql`create trigger ledger_is_appended before insert on ledger
    when new.id is not null and new.id <> -1 and new.id <= (select max(id) from ledger)
    begin select raise(abort, 'the ledger is append-only'); end`,

  sql`create table open_holds (
    request_id text not null,
    attempt integer not null,
    entry_id integer not null,
    at_ms integer not null,
    deadline_ms integer not null,
    key_name text not null,
    tenant text,
    publication text not null,
    endpoint text not null,
    amount_nano integer not null,
    tokens integer not null,
    input_tokens integer not null,
    input_amount_nano integer not null,
    primary key (request_id, attempt)
  ) strict, without rowid`,

  sql`create table wallets (
    tenant text primary key not null,
    balance_units integer not null,
    balance_nano integer not null
  ) strict, without rowid`,

  sql`create table key_totals (
    key_name text primary key not null,
    tokens integer not null,
    amount_units integer not null,
    amount_nano integer not null
  ) strict, without rowid`,

  // By quarters of an hour, because no time zone of today begins its days between two of them.
  sql`create table usage_quarters (
    key_name text not null,
    quarter integer not null,
    tenant text not null,
    publication text not null,
    endpoint text not null,
    requests integer not null,
    input_tokens integer not null,
    cached_input_tokens integer not null,
    cache_write_tokens integer not null,
    output_tokens integer not null,
    search_units integer not null,
    amount_units integer not null,
    amount_nano integer not null,
    estimated integer not null,
    unpriced integer not null,
    primary key (key_name, quarter, tenant, publication, endpoint)
  ) strict, without rowid`,
  sql`create index usage_quarters_by_time on usage_quarters (quarter)`,

  // Its ids are never used twice: whoever follows the log asks for those above the last that it saw.
  sql`create table call_logs (
    id integer primary key autoincrement,
    at_ms integer not null,
    request_id text not null,
    key_name text not null,
    tenant text,
    publication text not null,
    endpoint text,
    protocol text not null,
    path text not null,
    status integer not null,
    stream integer not null,
    outcome text not null,
    error_code text,
    input_tokens integer,
    cached_input_tokens integer,
    cache_write_tokens integer,
    output_tokens integer,
    search_units integer,
    amount_nano integer not null,
    marks text not null,
    latency_ms integer not null,
    first_byte_ms integer,
    attempts integer not null
  ) strict`,
  sql`create index call_logs_by_time on call_logs (at_ms)`,
  sql`create index call_logs_by_key on call_logs (key_name, id)`,

  // `wallet_version` is the id of the last credit, debit or adjustment; `probed_at_ms` is what a writer in trouble
  // writes to learn whether it is over.
  sql`create table ledger_head (
    id integer primary key check (id = 1),
    wallet_version integer not null,
    probed_at_ms integer not null
  ) strict`,
  sql`insert into ledger_head (id, wallet_version, probed_at_ms) values (1, 0, 0)`,
]
