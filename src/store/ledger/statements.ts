import { parameters, repeated } from './grouped-statement.ts'

/**
 * The statements of the writer. All parameters are positional: binding by name doubles the cost of a row. `or fail`: a
 * batch rolls back as a whole, so no statement needs its own rollback, for which SQLite would copy pages.
 */

export const OPEN_HOLD_COLUMNS = 19
export const insertOpenHolds = (rows: number): string => `
  insert or fail into open_holds (request_id, attempt, key_name, tenant, publication, endpoint, opened_at_ms,
    deadline_ms, amount_nano, tokens, input_tokens, input_amount_nano, duration_ms, characters, images, path, stream,
    price_id, lane)
  values ${repeated(rows, `(${parameters(OPEN_HOLD_COLUMNS)})`)}`

export const deleteOpenHolds = (rows: number): string =>
  `delete from open_holds where id in (${parameters(rows)})`

export const ADD_OPEN_HOLDS = `update ledger_head set open_holds = open_holds + ?`

const END_INTO = `
  insert or fail into ledger (kind, at_ms, request, attempt, key_id, tenant_id, publication_id, endpoint_id,
    amount_nano, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, search_units, duration_ms,
    characters, images, flags, price_id, reason_id, open_ms, held_nano, held_tokens)`

export const END_COLUMNS = 23
export const insertEnds = (rows: number): string =>
  `${END_INTO} values ${repeated(rows, `(${parameters(END_COLUMNS)})`)}`

/**
 * Settlements of tokens alone, without flags: most calls. To bind a null takes longer than anything else, so 0 is bound for a name or a
 * price that is missing: their ids begin at 1.
 */
export const TOKEN_END_COLUMNS = 16
export const insertTokenEnds = (rows: number): string =>
  `${END_INTO} values ${repeated(
    rows,
    '(0, ?, ?, ?, ?, nullif(?, 0), ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, 0, 0, nullif(?, 0), null, ?, ?, ?)',
  )}`

/**
 * The parameters end with the time of the settlement, twice. Upstreams are expected to give each id out once. For one that does
 * not: the newest answer of the same tenant counts. An id that one endpoint has given to two tenants expires at once,
 * because nothing tells whose answer the upstream keeps. An id that another endpoint uses stays with the first.
 */
export const STORE_RESPONSE = `
  insert or fail into stored_responses (id, key_name, tenant, publication, endpoint, tokens, expires_at_ms)
  values (?, ?, ?, ?, ?, ?, ?)
  on conflict do update set
    key_name = excluded.key_name, tenant = excluded.tenant, publication = excluded.publication,
    endpoint = excluded.endpoint, tokens = excluded.tokens,
    expires_at_ms = iif(expires_at_ms <= ?
      or (tenant is excluded.tenant and (tenant is not null or key_name = excluded.key_name)),
      excluded.expires_at_ms, 0)
  where expires_at_ms <= ? or endpoint = excluded.endpoint`

export const SELECT_END = `
  select kind, cast(amount_nano as text) as amount from ledger where request = ? and attempt = ?`

/** Whether any of these attempts has ended. */
export const selectAnyEnd = (rows: number): string => `
  select 1 from (values ${repeated(rows, '(?, ?)')}) as asked
    cross join ledger on request = asked.column1 and attempt = asked.column2 limit 1`

const CALL_INTO = `
  insert into call_logs (at_ms, request, key_id, tenant_id, publication_id, endpoint_id, path_id, status, stream,
    outcome_id, error_code_id, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, search_units,
    duration_ms, characters, images, amount_nano, flags, latency_ms, first_byte_ms, attempts, reason, failed_attempts,
    node_id)`

export const CALL_COLUMNS = 27
export const insertCalls = (rows: number): string =>
  `${CALL_INTO} values ${repeated(rows, `(${parameters(CALL_COLUMNS)})`)}`

/** Calls that were answered with tokens alone, without flags, at the first attempt or later. See {@link insertTokenEnds}. */
export const TOKEN_CALL_COLUMNS = 19
export const insertTokenCalls = (rows: number): string =>
  `${CALL_INTO} values ${repeated(
    rows,
    `(?, ?, ?, nullif(?, 0), ?, nullif(?, 0), ?, ?, ?, ?, null, ?, ?, ?, ?, 0, 0, 0, 0, ?, 0, ?, ?, ?, null, null,
      nullif(?, 0))`,
  )}`

export const ADD_TO_KEY = `
  insert into key_totals (key_name, tokens, amount_units, amount_nano) values (?, ?, ?, ?)
  on conflict do update set
    tokens = tokens + excluded.tokens,
    amount_units = amount_units + excluded.amount_units,
    amount_nano = amount_nano + excluded.amount_nano`

export const ADD_TO_WALLET = `
  insert into wallets (tenant, balance_units, balance_nano) values (?, ?, ?)
  on conflict do update set
    balance_units = balance_units + excluded.balance_units,
    balance_nano = balance_nano + excluded.balance_nano`

export const SELECT_BALANCE = `
  select cast(balance_units as text) as units, cast(balance_nano as text) as nano from wallets where tenant = ?`

export const SELECT_OPEN_HOLDS = `
  select id, request_id as requestId, attempt, tenant, opened_at_ms as openedAtMs, tokens,
    cast(amount_nano as text) as nano, price_id as priceId
  from open_holds where lane = ?`

/** What the other lanes hold of a tenant's balance. */
export const SELECT_HELD_ELSEWHERE = `
  select cast(sum(amount_nano / 1000000000) as text) as units, cast(sum(amount_nano % 1000000000) as text) as nano
  from open_holds where tenant = ? and lane <> ?`

export const PROBE = `update ledger_head set probed_at_ms = ?`

/** Rows of the journal of a lane up to this one are in the store. */
export const SET_FOLDED_ROW = `update journal set folded_row = ? where lane = ?`
