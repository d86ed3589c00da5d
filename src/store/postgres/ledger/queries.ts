import type { KeySums, KeySumsQuery, RejectedCall, StoredResponse } from '../../../schema/ledger.ts'
import { codeOf, toNano } from '../../ledger/columns.ts'
import type { Answers } from '../../ledger/messages.ts'
import { MAX_REJECTED_ROWS } from '../../ledger/rejected-calls.ts'
import { QUARTER_MS } from '../../ledger/usage-sums.ts'
import { numberArray, textArray } from './array-literals.ts'
import type { Database } from './lane-connection.ts'
import { dropPartitions } from './partitions.ts'

const DEBIT = codeOf('debit')
/** A message of PostgreSQL has at most 1 GB; this is far from it. */
const AT_ONCE = 10_000

const SUMS = `
  select t.tokens, t.amount_units::text, t.amount_nano::text, w.units::text, w.nano::text
  from unnest($1::text[], $2::int8[]) with ordinality as q (key, quarter, place)
  left join key_totals t on t.key_name = q.key
  left join lateral (
    select sum(amount_units) as units, sum(amount_nano) as nano from usage_quarters
    where key_name = q.key and quarter >= q.quarter) w on true
  order by place`

/** As of the last fold. */
export async function selectSums(
  db: Database,
  queries: readonly KeySumsQuery[],
): Promise<readonly KeySums[]> {
  const sums: KeySums[] = []
  for (let at = 0; at < queries.length; at += AT_ONCE) {
    const some = queries.slice(at, at + AT_ONCE)
    const { rows } = await db.query(SUMS, [
      textArray(some.map(({ key }) => key)),
      numberArray(some.map(({ sinceMs }) => Math.floor(sinceMs / QUARTER_MS))),
    ])
    for (const [index, { key }] of some.entries()) {
      const [tokens, units, nano, windowUnits, windowNano] = rows[index] as [
        number | null,
        ...(string | null)[],
      ]
      sums.push({
        key,
        totalTokens: tokens ?? 0,
        totalNano: toNano({ units: units ?? null, nano: nano ?? null }),
        windowNano: toNano({ units: windowUnits ?? null, nano: windowNano ?? null }),
      })
    }
  }
  return sums
}

/** As of the last fold. */
export async function selectBalances(db: Database, tenants: readonly string[]): Promise<Answers['balances']> {
  const { rows } = await db.query(
    `select wallet_version, tenant, balance_units::text, balance_nano::text from ledger_head
     left join wallets on tenant = any ($1::text[])`,
    [textArray(tenants)],
  )
  const balances = new Map(
    rows.map(([, tenant, units, nano]) => [
      tenant,
      toNano({ units, nano } as { units: string; nano: string }),
    ]),
  )
  return {
    version: rows[0]?.[0] as number,
    balanceNano: tenants.map(tenant => balances.get(tenant) ?? 0n),
  }
}

export async function selectAdjustments(db: Database, sinceVersion: number): Promise<Answers['adjustments']> {
  const { rows } = await db.query(
    `select wallet_version, kind, name, amount_nano::text from ledger_head
     left join (adjustments join ledger on ledger.id = entry_id and ledger.tenant_id = adjustments.tenant_id and kind <> 1
       join ledger_names on ledger_names.id = adjustments.tenant_id)
       on entry_id > $1 and entry_id <= wallet_version
     order by entry_id`,
    [sinceVersion],
  )
  const found = rows as readonly [number, number | null, string, string][]
  return {
    version: Math.max(sinceVersion, found[0]?.[0] ?? 0),
    changes: found.flatMap(([, kind, tenant, nano]) =>
      kind === null ? [] : [{ tenant, amountNano: kind === DEBIT ? -BigInt(nano) : BigInt(nano) }],
    ),
  }
}

export async function selectStored(
  db: Database,
  ids: readonly string[],
  nowMs: number,
): Promise<readonly (StoredResponse | undefined)[]> {
  const { rows } = await db.query(
    `select id, key_name, tenant, publication, endpoint, tokens, expires_at_ms from stored_responses
     where id = any ($1::text[]) and expires_at_ms > $2`,
    [textArray(ids), nowMs],
  )
  const found = new Map(
    rows.map(row => {
      const [id, key, tenant, publication, endpoint, tokens, expiresAtMs] = row as [
        string,
        string,
        string | null,
        string,
        string,
        number,
        number,
      ]
      return [id, { id, key, tenant: tenant ?? undefined, publication, endpoint, tokens, expiresAtMs }]
    }),
  )
  return ids.map(id => found.get(id))
}

/** Days of the call log that are over; and rejected calls. */
export async function pruneCallLogs(db: Database, beforeMs: number, maxRows: number): Promise<number> {
  await db.query(
    'delete from rejected_calls where id in (select id from rejected_calls where at_ms < $1 order by id limit $2)',
    [beforeMs, maxRows],
  )
  await dropPartitions(db, 'call_logs', beforeMs)
  return 0
}

export async function pruneStored(db: Database, nowMs: number, maxRows: number): Promise<number> {
  const { count } = await db.query(
    `delete from stored_responses where id in (
       select id from stored_responses where expires_at_ms <= $1 order by expires_at_ms limit $2 for update skip locked)`,
    [nowMs, maxRows],
  )
  return count
}

export async function insertRejected(db: Database, calls: readonly RejectedCall[]): Promise<undefined> {
  const text = (value: (call: RejectedCall) => string | undefined) =>
    textArray(calls.map(call => value(call) ?? null))
  const number = (value: (call: RejectedCall) => number) => numberArray(calls.map(value))
  await db.query(
    `insert into rejected_calls (at_ms, request_id, key_name, tenant, asked_model, protocol, path, status, error_code,
       message, reason, count)
     select * from unnest($1::int8[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::int4[],
       $9::text[], $10::text[], $11::text[], $12::int8[])`,
    [
      number(({ atMs }) => atMs),
      text(({ requestId }) => requestId),
      text(({ key }) => key),
      text(({ tenant }) => tenant),
      text(({ askedModel }) => askedModel),
      text(({ protocol }) => protocol),
      text(({ path }) => path),
      number(({ status }) => status),
      text(({ errorCode }) => errorCode),
      text(({ message }) => message),
      text(({ reason }) => reason),
      number(({ count }) => count),
    ],
  )
  await db.query(
    `delete from rejected_calls where id <= (select max(id) from rejected_calls) - ${MAX_REJECTED_ROWS}`,
  )
}
