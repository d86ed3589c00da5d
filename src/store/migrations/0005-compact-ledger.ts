import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

/**
 * A row for each call instead of two, names as numbers, and request ids as bytes: a third of the size. A hold is in
 * `open_holds` until it ends, and its row of the ledger is written with its end.
 */
export const compactLedger: Migration = {
  async up(db: Kysely<never>) {
    for (const statement of [...RENAME, ...CREATE, ...COPY, ...DROP, ...PROTECT])
      await sql.raw(statement).execute(db)
  },
}

const RENAME = [
  ...['ledger_is_not_updated', 'ledger_is_not_deleted', 'ledger_is_appended'].map(
    name => `drop trigger ${name}`,
  ),
  ...[
    'ledger_references',
    'ledger_adjustments',
    'ledger_by_tenant',
    'call_logs_by_time',
    'call_logs_by_key',
  ].map(name => `drop index ${name}`),
  ...['ledger', 'open_holds', 'call_logs'].map(name => `alter table ${name} rename to former_${name}`),
]

/** No answer has 10¹² tokens: a row with more is rejected, before it spoils a sum. */
const counted = (column: string) => `${column} integer check (${column} between 0 and 1000000000000)`
const COUNTED = [
  'input_tokens',
  'cached_input_tokens',
  'cache_write_tokens',
  'output_tokens',
  'search_units',
  'duration_ms',
  'characters',
  'images',
]

const CREATE = [
  // Names of keys, tenants, publications and endpoints (accounts: they stay if a resource is renamed), reasons, paths.
  `create table ledger_names (
    id integer primary key,
    name text not null unique
  ) strict`,

  // Calls that have ended, and the adjustments of wallets: append-only, until they are archived. An amount is one integer;
  // sums of amounts may exceed 64 bits and have two columns, whole units and nano-units, added up separately.
  // `kind`: 0 settle, 1 release, 2 credit, 3 debit, 4 adjust. `flags`: the sum of 1 interrupted, 2 swept, 4 client_gone,
  // 8 partial, 16 estimated, 32 unpriced. `request`: the 12 bytes of an id such as `req_…`, any other id as text. `open_ms`,
  // `held_nano` and `held_tokens` are of the hold: how long it was open, and what it reserved.
  `create table ledger (
    id integer primary key,
    kind integer not null check (kind between 0 and 4),
    at_ms integer not null,
    request any,
    attempt integer,
    key_id integer,
    tenant_id integer,
    publication_id integer,
    endpoint_id integer,
    amount_nano integer not null check (amount_nano >= 0 or kind = 4),
    ${COUNTED.map(counted).join(', ')},
    flags integer not null,
    price_id integer,
    reason_id integer,
    open_ms integer,
    held_nano integer,
    held_tokens integer,
    check (iif(kind <= 1,
      request is not null and attempt is not null and key_id is not null and publication_id is not null
        and endpoint_id is not null,
      request is null and tenant_id is not null))
  ) strict`,

  // What a credit, debit or adjustment says, beside its entry. A reference is used once for each tenant.
  `create table adjustments (
    entry_id integer primary key,
    tenant_id integer not null,
    reference text not null,
    note text,
    author text,
    unique (tenant_id, reference)
  ) strict`,

  // The holds without an end. `path` and `stream` are what the call log needs if the call is interrupted: null if such calls
  // are not logged. Ids are never used twice: a start settles those up to the last one.
  `create table open_holds (
    id integer primary key autoincrement,
    request_id text not null,
    attempt integer not null,
    key_name text not null,
    tenant text,
    publication text not null,
    endpoint text not null,
    opened_at_ms integer not null,
    deadline_ms integer not null,
    amount_nano integer not null check (amount_nano >= 0),
    tokens integer not null,
    input_tokens integer not null,
    input_amount_nano integer not null,
    duration_ms integer,
    characters integer,
    images integer,
    path text,
    stream integer,
    price_id integer
  ) strict`,

  // The log of dispatched calls, until retention deletes it. Ids are never used twice: a follower asks for those above
  // the last one. Names, flags and requests are as in the ledger; the protocol is that of the path.
  `create table call_logs (
    id integer primary key autoincrement,
    at_ms integer not null,
    request any not null,
    key_id integer not null,
    tenant_id integer,
    publication_id integer not null,
    endpoint_id integer,
    path_id integer not null,
    status integer not null,
    stream integer not null,
    outcome_id integer not null,
    error_code_id integer,
    ${COUNTED.map(column => `${column} integer`).join(', ')},
    amount_nano integer not null,
    flags integer not null,
    latency_ms integer not null,
    first_byte_ms integer,
    attempts integer not null,
    reason text,
    failed_attempts text
  ) strict`,

  // The pages of the call log, of 4,096 ids each: the times of their rows, and the values that their rows have, so that a filter
  // reads no others. `filter`: 1 tenant_id, 2 publication_id, 3 endpoint_id, 4 outcome_id, 5 status.
  `create table call_log_pages (
    page integer primary key,
    first_at_ms integer not null,
    last_at_ms integer not null
  ) strict`,
  `create table call_log_values (
    filter integer not null,
    value integer not null,
    page integer not null,
    primary key (filter, value, page)
  ) strict, without rowid`,
]

const NAMED = ['key_name', 'tenant', 'publication', 'endpoint']
const id = (column: string) => `(select id from ledger_names where name = ${column})`
const bytes = (column: string) =>
  `iif(${column} glob 'req_*' and length(${column}) = 28 and substr(${column}, 5) not glob '*[^0-9a-f]*',
    unhex(substr(${column}, 5)), ${column})`
const flags = (column: string) =>
  ['interrupted', 'swept', 'client_gone', 'partial', 'estimated', 'unpriced']
    .map((flag, bit) => `(instr(coalesce(${column}, ''), '${flag}') > 0) * ${2 ** bit}`)
    .join(' + ')

const COPY = [
  `insert into ledger_names (name)
    ${[
      ...[...NAMED, 'reason'].map(
        column => `select ${column} from former_ledger where ${column} is not null`,
      ),
      ...[...NAMED, 'path', 'outcome', 'error_code'].map(
        column => `select ${column} from former_call_logs where ${column} is not null`,
      ),
    ].join(' union ')}`,
  `insert into ledger (kind, at_ms, request, attempt, key_id, tenant_id, publication_id, endpoint_id, amount_nano,
      ${COUNTED.join(', ')}, flags, price_id, reason_id, open_ms, held_nano, held_tokens)
    select case e.kind when 'settle' then 0 when 'release' then 1 when 'credit' then 2 when 'debit' then 3 else 4 end,
      e.at_ms, ${bytes('e.request_id')}, e.attempt, ${NAMED.map(column => id(`e.${column}`)).join(', ')}, e.amount_nano,
      ${COUNTED.map(column => `e.${column}`).join(', ')}, ${flags('e.flags')}, e.price_id, ${id('e.reason')},
      e.at_ms - h.at_ms, h.amount_nano, h.tokens
    from former_ledger e left join former_ledger h
      on h.request_id = e.request_id and h.attempt = e.attempt and (h.kind = 'hold') = 1
    where e.kind <> 'hold' order by e.id`,
  `insert into adjustments (entry_id, tenant_id, reference, note, author)
    select n.id, n.tenant_id, e.reference, e.note, e.author
    from (select id, tenant_id, row_number() over (order by id) as number from ledger where kind >= 2) n
    join (select reference, note, author, row_number() over (order by id) as number
      from former_ledger where reference is not null) e using (number)`,
  `update ledger_head set wallet_version = (select coalesce(max(entry_id), 0) from adjustments)`,
  `insert into open_holds (request_id, attempt, key_name, tenant, publication, endpoint, opened_at_ms, deadline_ms,
      amount_nano, tokens, input_tokens, input_amount_nano, duration_ms, characters, images, path, stream, price_id)
    select request_id, attempt, key_name, tenant, publication, endpoint, at_ms, deadline_ms, amount_nano, tokens,
      input_tokens, input_amount_nano, duration_ms, characters, images, o.path, o.stream, o.price_id
    from former_open_holds o cross join former_ledger on former_ledger.id = o.entry_id order by o.entry_id`,
  `alter table ledger_head add column open_holds integer not null default 0`,
  `update ledger_head set open_holds = (select count(*) from open_holds)`,
  `insert into call_logs (id, at_ms, request, key_id, tenant_id, publication_id, endpoint_id, path_id, status, stream,
      outcome_id, error_code_id, ${COUNTED.join(', ')}, amount_nano, flags, latency_ms, first_byte_ms, attempts, reason,
      failed_attempts)
    select id, at_ms, ${bytes('request_id')}, ${[...NAMED, 'path'].map(id).join(', ')}, status, stream,
      ${id('outcome')}, ${id('error_code')}, ${COUNTED.join(', ')}, amount_nano, ${flags('flags')}, latency_ms,
      first_byte_ms, attempts, reason, failed_attempts
    from former_call_logs order by id`,
  `insert into call_log_pages (page, first_at_ms, last_at_ms)
    select id / 4096, min(at_ms), max(at_ms) from call_logs group by 1`,
  `insert into call_log_values (filter, value, page)
    ${['tenant_id', 'publication_id', 'endpoint_id', 'outcome_id', 'status']
      .map(
        (column, index) =>
          `select ${index + 1}, ${column}, id / 4096 from call_logs where ${column} is not null`,
      )
      .join(' union ')}`,
]

const DROP = ['ledger', 'open_holds', 'call_logs'].map(name => `drop table former_${name}`)

const PROTECT = [
  // One end for each attempt.
  `create unique index ledger_once on ledger (request, attempt) where request is not null`,
  // For the entries of a wallet.
  `create index ledger_by_tenant on ledger (tenant_id, id) where tenant_id is not null and kind <> 1`,
  `create index call_logs_by_key on call_logs (key_id, id)`,
  `create index call_logs_by_request on call_logs (request)`,
  ...['ledger', 'adjustments', 'ledger_names'].flatMap(table =>
    ['update', 'delete'].map(
      change => `create trigger ${table}_is_not_${change}d before ${change} on ${table}
        begin select raise(abort, 'the ledger is append-only'); end`,
    ),
  ),
  // `rollback`: if a trigger may end its statement alone, SQLite copies each page that the statement touches, for each row.
  // Inserts say `or fail` for the same reason: then no constraint ends the statement alone either.
  `create trigger ledger_is_appended before insert on ledger
    when new.id is not null and new.id <> -1 and new.id <= (select max(id) from ledger)
    begin select raise(rollback, 'the ledger is append-only'); end`,
]
