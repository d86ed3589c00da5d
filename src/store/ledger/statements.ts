/**
 * The statements of the writer. All parameters are positional: binding by name doubles the cost of a row. `or fail`: a
 * batch rolls back as a whole, so no statement needs its own rollback, for which SQLite would copy pages.
 */

export const INSERT_HOLD_ENTRY = `
  insert or fail into ledger (kind, request_id, attempt, key_name, tenant, publication, endpoint,
    at_ms, amount_nano, deadline_ms, tokens, input_tokens, input_amount_nano, duration_ms,
    characters, images)
  values ('hold', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  on conflict do nothing`

export const INSERT_OPEN_HOLD = `insert into open_holds (entry_id, path, stream, price_id) values (?, ?, ?, ?)`

export const DELETE_OPEN_HOLD = `delete from open_holds where entry_id = ?`

export const ADD_PRICE = `insert into ledger_prices (price) values (?) on conflict do nothing`
export const SELECT_PRICE = `select id from ledger_prices where price = ?`

export const INSERT_SETTLEMENT = `
  insert or fail into ledger (kind, request_id, attempt, key_name, tenant, publication, endpoint,
    at_ms, amount_nano, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, search_units,
    duration_ms, characters, images, flags, price_id)
  values ('settle', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

export const INSERT_RELEASE = `
  insert or fail into ledger (kind, request_id, attempt, key_name, tenant, publication, endpoint,
    at_ms, amount_nano, reason)
  values ('release', ?, ?, ?, ?, ?, ?, ?, 0, ?)`

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
  select kind, cast(amount_nano as text) as amount from ledger
  where request_id = ? and attempt = ? and (kind = 'hold') = 0`

export const INSERT_CALL = `
  insert into call_logs (at_ms, request_id, key_name, tenant, publication, endpoint, protocol, path, status, stream,
    outcome, error_code, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, search_units,
    duration_ms, characters, images, amount_nano, flags, latency_ms, first_byte_ms, attempts, reason, failed_attempts)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

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
  select request_id as requestId, attempt, entry_id as entryId, tenant, cast(amount_nano as text) as nano,
    open_holds.price_id as priceId
  from open_holds cross join ledger on ledger.id = entry_id`

export const PROBE = `update ledger_head set probed_at_ms = ?`

/** Rows of the journal up to this one are in the store. */
export const SET_FOLDED_ROW = `update journal set folded_row = ?`
