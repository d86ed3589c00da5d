/** A ledger as a busy gateway would leave it, written as the gateway writes it. */
import Database from 'better-sqlite3'
import { LedgerRows } from '../../dist/store/ledger/ledger-rows.js'

const DAY_MS = 86_400_000
const BATCH_CALLS = 500
/** One call of so many is still open when its batch ends. */
const OPEN = 10
const TENANTS = 20
const MODELS = 5
const ENDPOINTS = 3
const PRICE = '{"input":"1","output":"4"}'
/** Per million tokens 1 and 4: in nano-units a token. */
const [INPUT_NANO, OUTPUT_NANO] = [1_000, 4_000]

/**
 * Fills the empty ledger of the store at `path`. One call in fifty is released, one in thirty is an estimate.
 *
 * @returns how many entries it has.
 */
export function fillLedger(path, { calls, keys, days, untilMs = Date.now() }) {
  const raw = new Database(path)
  raw.pragma('journal_mode = wal')
  raw.pragma('synchronous = off')
  raw.pragma('cache_size = -200000')
  const ledger = new LedgerRows(raw)
  const fromMs = untilMs - days * DAY_MS
  const spread = (at, step, many) => (at * step) % many
  const rowsOf = at => {
    const key = spread(at, 7_919, keys)
    const openedAtMs = fromMs + Math.floor((at / calls) * days * DAY_MS)
    const random = ((at * 2_654_435_761) % 2 ** 48).toString(16).padStart(12, '0')
    const input = 200 + spread(at, 613, 3_000)
    const output = 20 + spread(at, 271, 700)
    const isReleased = at % 50 === 49
    const claim = {
      requestId: `req_${openedAtMs.toString(16).padStart(12, '0')}${random}`,
      attempt: 1,
      key: `key-${key}`,
      tenant: `tenant-${key % TENANTS}`,
      publication: `vendor/model-${spread(at, 31, MODELS)}`,
      endpoint: `endpoint-${spread(at, 17, ENDPOINTS)}`,
    }
    const usage = {
      inputTokens: input,
      cachedInputTokens: 0,
      cacheWriteTokens: 0,
      outputTokens: output,
      searchUnits: 0,
      durationMs: 0,
      characters: 0,
      images: 0,
    }
    const amountNano = isReleased ? 0n : BigInt(input * INPUT_NANO + output * OUTPUT_NANO)
    const flags = at % 30 === 29 && !isReleased ? ['estimated'] : []
    const endedAtMs = openedAtMs + 900
    const hold = {
      ...claim,
      openedAtMs,
      deadlineMs: openedAtMs + 1_860_000,
      amountNano: BigInt(input * INPUT_NANO + 4_096 * OUTPUT_NANO),
      tokens: input + 1_024,
      inputTokens: input,
      inputAmountNano: BigInt(input * INPUT_NANO),
      price: PRICE,
      call: { path: '/v1/chat/completions', stream: true },
    }
    const end = isReleased
      ? { ...claim, kind: 'release', endedAtMs, reason: 'upstream_error' }
      : { ...claim, kind: 'settle', endedAtMs, amountNano, usage, flags }
    const log = {
      ...claim,
      atMs: endedAtMs,
      protocol: 'openai',
      path: '/v1/chat/completions',
      status: isReleased ? 502 : 200,
      stream: true,
      outcome: isReleased ? 'failed' : 'answered',
      ...(isReleased ? { errorCode: 'upstream_error' } : { usage }),
      amountNano,
      flags,
      latencyMs: 900,
      firstByteMs: 150,
      attempts: 1,
    }
    return [
      ['hold', hold],
      ['end', end],
      ['log', log],
    ]
  }
  let late = []
  for (let at = 0; at < calls; at += BATCH_CALLS) {
    const batch = late
    late = []
    for (let next = at; next < Math.min(at + BATCH_CALLS, calls); next++) {
      const [hold, ...rest] = rowsOf(next)
      batch.push(hold)
      if (next % OPEN === 0) late.push(...rest)
      else batch.push(...rest)
    }
    ledger.write(batch)
  }
  ledger.write(late)
  raw.pragma('wal_checkpoint(truncate)')
  const entries = Number(raw.prepare('select max(id) from ledger').pluck().get())
  raw.close()
  return entries
}
