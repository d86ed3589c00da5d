/** A ledger as a busy gateway would leave it, made in a fraction of the time: without its indexes, which come last. */
import Database from 'better-sqlite3'

const DAY_MS = 86_400_000
const QUARTER_MS = 900_000
/** So many calls are open at a time. */
const OPEN = 40
const TENANTS = 20
const MODELS = 5
const ENDPOINTS = 3
/** Per million tokens 1 and 4: in nano-units a token. */
const [INPUT_NANO, OUTPUT_NANO] = [1_000, 4_000]

/**
 * Fills the empty ledger of the store at `path`. One call in fifty is released, one in thirty is an estimate.
 *
 * @returns how many entries it has.
 */
export function fillLedger(path, { calls, keys, days, untilMs = Date.now() }) {
  const raw = new Database(path)
  raw.pragma('synchronous = off')
  raw.pragma('temp_store = memory')
  const later = raw
    .prepare(
      `select type, name, sql from sqlite_schema where tbl_name in ('ledger', 'call_logs', 'usage_quarters')
       and type in ('index', 'trigger') and sql is not null`,
    )
    .all()
  for (const { type, name } of later) raw.exec(`drop ${type} ${name}`)
  raw.exec(`insert into ledger_prices (id, price) values (1, '{"input":"1","output":"4"}')`)

  const hold = raw.prepare(
    `insert into ledger (kind, request_id, attempt, key_name, tenant, publication, endpoint, at_ms, amount_nano,
       deadline_ms, tokens, input_tokens, input_amount_nano)
     values ('hold', ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const settle = raw.prepare(
    `insert into ledger (kind, request_id, attempt, key_name, tenant, publication, endpoint, at_ms, amount_nano,
       input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, search_units, flags, price_id)
     values ('settle', ?, 1, ?, ?, ?, ?, ?, ?, ?, 0, 0, ?, 0, ?, 1)`,
  )
  const release = raw.prepare(
    `insert into ledger (kind, request_id, attempt, key_name, tenant, publication, endpoint, at_ms, amount_nano, reason)
     values ('release', ?, 1, ?, ?, ?, ?, ?, 0, 'upstream_failed')`,
  )
  const fromMs = untilMs - days * DAY_MS
  const spread = (at, step, many) => (at * step) % many
  const callAt = at => {
    const key = spread(at, 7_919, keys)
    const atMs = fromMs + Math.floor((at / calls) * days * DAY_MS)
    const id = `req_${atMs.toString(16).padStart(12, '0')}${((at * 2_654_435_761) % 2 ** 48).toString(16).padStart(12, '0')}`
    return {
      claim: [
        id,
        `key-${key}`,
        `tenant-${key % TENANTS}`,
        `vendor/model-${spread(at, 31, MODELS)}`,
        `endpoint-${spread(at, 17, ENDPOINTS)}`,
      ],
      atMs,
      input: 200 + spread(at, 613, 3_000),
      output: 20 + spread(at, 271, 700),
      isReleased: at % 50 === 49,
      flags: at % 30 === 29 ? 'estimated' : '',
    }
  }
  const open = ({ claim, atMs, input }) =>
    hold.run(
      ...claim,
      atMs,
      input * INPUT_NANO + 4_096 * OUTPUT_NANO,
      atMs + 1_860_000,
      input + 1_024,
      input,
      input * INPUT_NANO,
    )
  const end = ({ claim, atMs, input, output, isReleased, flags }) => {
    if (isReleased) release.run(...claim, atMs + 900)
    else settle.run(...claim, atMs + 900, input * INPUT_NANO + output * OUTPUT_NANO, input, output, flags)
  }
  raw.transaction(() => {
    const ring = []
    for (let at = 0; at < calls; at++) {
      const call = callAt(at)
      open(call)
      ring.push(call)
      if (ring.length > OPEN) end(ring.shift())
    }
    for (const call of ring) end(call)
  })()
  raw.exec(`
    begin;
    insert into usage_quarters (key_name, quarter, tenant, publication, endpoint, requests, input_tokens,
        cached_input_tokens, cache_write_tokens, output_tokens, search_units, amount_units, amount_nano, estimated,
        unpriced)
      select key_name, at_ms / ${QUARTER_MS}, tenant, publication, endpoint, count(*), sum(input_tokens), 0, 0,
        sum(output_tokens), 0, sum(amount_nano) / 1000000000, sum(amount_nano) % 1000000000,
        sum(flags = 'estimated'), 0
      from ledger where kind = 'settle' group by 1, 2, 3, 4, 5;
    insert into key_totals
      select key_name, sum(input_tokens + output_tokens), sum(amount_units), sum(amount_nano)
      from usage_quarters group by 1;
    insert into wallets select tenant, -sum(amount_units), -sum(amount_nano) from usage_quarters group by 1;
    insert into call_logs (at_ms, request_id, key_name, tenant, publication, endpoint, protocol, path, status, stream,
      outcome, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, search_units, amount_nano, flags,
      latency_ms, first_byte_ms, attempts)
    select at_ms, request_id, key_name, tenant, publication, endpoint, 'openai', '/v1/chat/completions',
      iif(kind = 'settle', 200, 502), 1, iif(kind = 'settle', 'success', 'upstream_error'), input_tokens,
      cached_input_tokens, cache_write_tokens, output_tokens, search_units, amount_nano, coalesce(flags, ''), 900, 150, 1
    from ledger where kind <> 'hold';
    ${later.map(({ sql }) => `${sql};`).join('\n')}
    commit`)
  raw.pragma('wal_checkpoint(truncate)')
  const entries = Number(raw.prepare('select max(id) from ledger').pluck().get())
  raw.close()
  return entries
}
