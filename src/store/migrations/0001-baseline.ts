import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/**
 * All tables of the first version: what `tables.ts` describes column by column. Times are milliseconds since the epoch,
 * `…_nano` are billionths of the currency's unit, flags are 0 and 1, digests are SHA-256 in hexadecimal digits.
 *
 * Append-only tables have a trigger each against updates, deletions, and insertions of an id that was there before:
 * without the last one `insert or replace` would rewrite history, because it deletes without firing delete triggers.
 */
export const baseline: Migration = {
  async up(db: Kysely<never>) {
    for (const statement of STATEMENTS) await statement.execute(db)
  },
}

const STATEMENTS: readonly RawBuilder<unknown>[] = [
  // One row, which polls compare: the newest revision, the version of the keys, and the oldest readable revision.
  sql`create table head (
    id integer primary key check (id = 1),
    revision integer not null,
    key_version integer not null,
    states_from integer not null default 0
  ) strict`,
  sql`insert into head (id, revision, key_version) values (1, 0, 0)`,

  // A row per commit of the configuration. `counts` is JSON; `restores` is the revision that a rollback restored.
  // Append-only.
  sql`create table revisions (
    id integer primary key,
    base integer not null check (base = id - 1),
    set_name text,
    origin text not null,
    author text,
    git_commit text,
    created_at_ms integer not null,
    counts text not null,
    restores integer
  ) strict`,
  sql`create trigger revisions_are_not_updated before update on revisions
    begin select raise(abort, 'revisions are append-only'); end`,
  sql`create trigger revisions_are_not_deleted before delete on revisions
    begin select raise(abort, 'revisions are append-only'); end`,
  sql`create trigger revisions_are_appended before insert on revisions
    when new.id <> coalesce((select max(id) from revisions), 0) + 1
    begin select raise(abort, 'revisions are append-only'); end`,

  // What each revision changed: a row per resource, with the columns of `resources` before it, null if there were none,
  // and the place in the files that declares the new version. An earlier state is read backwards, from the current one.
  // Append-only, but retention moves `states_from` forward and deletes the rows that only older states need.
  sql`create table revision_changes (
    revision integer not null,
    kind text not null,
    name text not null,
    before_spec text,
    before_owner text,
    before_set_name text,
    before_source_file text,
    before_source_line integer,
    before_created_revision integer,
    before_updated_revision integer,
    before_created_at_ms integer,
    before_account text,
    made_file text,
    made_line integer,
    primary key (revision, kind, name)
  ) strict, without rowid`,
  sql`create trigger revision_changes_are_not_updated before update on revision_changes
    begin select raise(abort, 'revisions are append-only'); end`,
  sql`create trigger revision_changes_are_kept before delete on revision_changes
    when old.revision > (select states_from from head)
    begin select raise(abort, 'revisions are append-only'); end`,
  sql`create trigger revision_changes_are_appended before insert on revision_changes
    when new.revision <> (select max(id) from revisions) or exists (
      select 1 from revision_changes where revision = new.revision and kind = new.kind and name = new.name)
    begin select raise(abort, 'revisions are append-only'); end`,

  // The current configuration. `spec` is canonical JSON; `account` is null if it equals the name.
  sql`create table resources (
    kind text not null,
    name text not null,
    spec text not null,
    owner text not null check (owner in ('config', 'cli', 'rest')),
    set_name text check ((set_name is not null) = (owner = 'config')),
    source_file text,
    source_line integer,
    created_revision integer not null references revisions (id),
    updated_revision integer not null references revisions (id),
    created_at_ms integer not null,
    account text,
    constraint resources_are_named_once primary key (kind, name)
  ) strict`,

  // The accounts that usage, spending and wallets are recorded under, if they differ from the name of their resource: a
  // renamed resource keeps its account, because the entries of the ledger never change. `name` is its last name.
  sql`create table accounts (
    kind text not null,
    account text not null,
    name text not null,
    primary key (kind, account)
  ) strict, without rowid`,
  sql`create index accounts_by_name on accounts (kind, name)`,

  // The secrets of keys. A secret outlives its key, revoked: its digest stays taken.
  sql`create table key_secrets (
    id integer primary key,
    key_name text not null,
    digest text not null unique check (length(digest) = 64 and digest not glob '*[^0-9a-f]*'),
    created_at_ms integer not null,
    expires_at_ms integer,
    revoked_at_ms integer
  ) strict`,
  sql`create index key_secrets_by_key on key_secrets (key_name)`,

  // The keys that were suspended by hand.
  sql`create table key_suspensions (
    key_name text not null primary key,
    suspended_at_ms integer not null
  ) strict`,

  // One row while `gw maintenance` is on.
  sql`create table maintenance (
    id integer primary key check (id = 1),
    message text,
    author text,
    since_ms integer not null
  ) strict`,

  // The gateways that serve the store, as each one reports itself, with the files that it follows.
  sql`create table gateways (
    id text primary key not null,
    pid integer not null,
    host text not null,
    version text,
    url text,
    started_at_ms integer not null,
    seen_at_ms integer not null,
    revision integer not null,
    key_version integer not null,
    rejected_revision integer,
    rejection text,
    followed_paths text,
    followed_watch integer
  ) strict, without rowid`,

  // The health of endpoints, as each gateway reports it; no row for an endpoint that has not answered yet.
  sql`create table endpoint_health (
    gateway_id text not null,
    endpoint text not null,
    state text not null,
    since_ms integer not null,
    reason text,
    primary key (gateway_id, endpoint)
  ) strict, without rowid`,

  // The users of the control plane. `version` grows with each change.
  sql`create table users (
    id integer primary key,
    name text not null unique,
    role text not null check (role in ('admin', 'tenant')),
    tenant text check ((tenant is not null) = (role = 'tenant')),
    enabled integer not null check (enabled in (0, 1)),
    password_hash text not null,
    created_at_ms integer not null,
    last_login_at_ms integer,
    version integer not null
  ) strict`,

  // Their sessions, by the digest of the token.
  sql`create table sessions (
    digest text primary key not null check (length(digest) = 64),
    user_id integer not null references users (id) on delete cascade,
    carrier text not null check (carrier in ('bearer', 'cookie')),
    address text not null,
    created_at_ms integer not null,
    used_at_ms integer not null
  ) strict, without rowid`,
  sql`create index sessions_by_user on sessions (user_id, created_at_ms)`,

  // Their personal access tokens.
  sql`create table tokens (
    id text primary key not null,
    digest text not null unique check (length(digest) = 64),
    user_id integer not null references users (id) on delete cascade,
    name text not null,
    role text not null check (role in ('admin', 'tenant')),
    tenant text check ((tenant is not null) = (role = 'tenant')),
    scope text not null check (scope in ('read', 'write')),
    created_at_ms integer not null,
    expires_at_ms integer not null,
    used_at_ms integer,
    unique (user_id, name)
  ) strict, without rowid`,

  // The networks and devices that users have logged in from: `network 192.0.2.1`, `network 2001:db8:1:2::/64`, or `device`
  // and the digest of a cookie. They go first when many log in at once.
  sql`create table login_origins (
    user_id integer not null references users (id) on delete cascade,
    origin text not null,
    used_at_ms integer not null,
    primary key (user_id, origin)
  ) strict, without rowid`,

  // What users changed. Names, not ids: they stay after a user is deleted. Append-only.
  sql`create table audit (
    id integer primary key,
    at_ms integer not null,
    user_name text not null,
    role text not null,
    origin text not null check (origin in ('rest', 'cli')),
    address text,
    action text not null,
    target text,
    revision integer,
    request_id text
  ) strict`,
  sql`create index audit_by_user on audit (user_name, id)`,
  sql`create trigger audit_is_not_updated before update on audit
    begin select raise(abort, 'the audit is append-only'); end`,
  sql`create trigger audit_is_not_deleted before delete on audit
    begin select raise(abort, 'the audit is append-only'); end`,
  sql`create trigger audit_is_appended before insert on audit
    when new.id is not null and new.id <> -1 and new.id <= (select max(id) from audit)
    begin select raise(abort, 'the audit is append-only'); end`,

  // Credentials that were set over REST, sealed with a key that is not in the database.
  sql`create table stored_secrets (
    id text primary key not null,
    bound_to text not null,
    nonce blob not null,
    sealed blob not null,
    created_at_ms integer not null
  ) strict, without rowid`,

  // Holds, their ends, and the adjustments of wallets: append-only. An amount is one integer; sums of amounts may exceed
  // 64 bits and have two columns, whole units and nano-units, added up separately. No answer has 10¹² tokens: a row with
  // more is rejected, before it spoils a sum.
  // `kind` is compared value by value: SQLite builds a list of more than two as a table, for each row (3 µs).
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
    flags text,
    reason text,
    reference text,
    note text,
    author text,
    price_id integer,
    check (case
      when kind = 'hold' or kind = 'settle' or kind = 'release' then request_id is not null and attempt is not null
        and key_name is not null and publication is not null and endpoint is not null
      when kind = 'credit' or kind = 'debit' or kind = 'adjust' then reference is not null and tenant is not null
        and request_id is null
      else 0 end)
  ) strict`,
  // One hold for each attempt, and one end, of any kind.
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
  // `rollback`: if a trigger may end its statement alone, SQLite copies each page that the statement touches, for each row.
  // Inserts say `or fail` for the same reason: then no constraint ends the statement alone either.
  sql`create trigger ledger_is_appended before insert on ledger
    when new.id is not null and new.id <> -1 and new.id <= (select max(id) from ledger)
    begin select raise(rollback, 'the ledger is append-only'); end`,

  // The prices of settlements, as text; entries refer to them by id. Append-only.
  sql`create table ledger_prices (
    id integer primary key,
    price text not null unique
  ) strict`,
  sql`create trigger ledger_prices_are_not_updated before update on ledger_prices
    begin select raise(abort, 'the ledger is append-only'); end`,
  sql`create trigger ledger_prices_are_not_deleted before delete on ledger_prices
    begin select raise(abort, 'the ledger is append-only'); end`,

  // The holds without an end, by their entries, with what the call log needs if the call is interrupted: null if such
  // calls are not logged. Narrow rows, because each call writes and deletes one.
  sql`create table open_holds (
    entry_id integer primary key,
    path text,
    stream integer,
    price_id integer
  ) strict`,

  // The balances: credits − debits + adjustments − settlements.
  sql`create table wallets (
    tenant text primary key not null,
    balance_units integer not null,
    balance_nano integer not null
  ) strict, without rowid`,

  // Lifetime usage of keys; tokens of input and output.
  sql`create table key_totals (
    key_name text primary key not null,
    tokens integer not null,
    amount_units integer not null,
    amount_nano integer not null
  ) strict, without rowid`,

  // Settled usage by quarters of an hour since the epoch, because each time zone begins its days at one of them.
  // `tenant` is empty for platform keys.
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

  // One row: the id of the last credit, debit or adjustment, and a time that a writer in an outage writes to test the disk.
  sql`create table ledger_head (
    id integer primary key check (id = 1),
    wallet_version integer not null,
    probed_at_ms integer not null
  ) strict`,
  sql`insert into ledger_head (id, wallet_version, probed_at_ms) values (1, 0, 0)`,

  // The log of dispatched calls, until retention deletes it. Ids are never used twice: a follower asks for those above
  // the last one.
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
    flags text not null,
    latency_ms integer not null,
    first_byte_ms integer,
    attempts integer not null,
    reason text,
    failed_attempts text
  ) strict`,
  sql`create index call_logs_by_time on call_logs (at_ms)`,
  sql`create index call_logs_by_key on call_logs (key_name, id)`,

  // The log of calls that were rejected before dispatch: `count` alike calls a row. Ids are never used twice.
  sql`create table rejected_calls (
    id integer primary key autoincrement,
    at_ms integer not null,
    request_id text not null,
    key_name text,
    tenant text,
    asked_model text,
    protocol text not null,
    path text not null,
    status integer not null,
    error_code text not null,
    message text not null,
    reason text,
    count integer not null check (count >= 1)
  ) strict`,
]
