import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { usageOf } from '../../src/schema/ledger.ts'
import { takeLease } from '../../src/store/ledger/lease.ts'
import { compareDays } from '../../src/store/ledger/verify/day-sums.ts'
import { MIGRATION_NAMES } from '../../src/store/migrations/names.ts'
import { openStore } from '../../src/store/open.ts'
import { makeBaselineStore } from '../support/baseline-store.ts'
import { tempDir } from '../support/temp-dir.ts'
import { openBoth } from './ledger/opened.ts'
import { hold, NOON_MS, settle } from './ledger/rows.ts'
import { verified } from './ledger/verified.ts'

/** One settled call, one open hold and a credit, as the gw of the baseline wrote them. */
const BASELINE_ROWS = `
  insert into revisions (id, base, origin, created_at_ms, counts) values (1, 0, 'cli', 0, '{}');
  insert into resources (kind, name, spec, owner, created_revision, updated_revision, created_at_ms)
    values ('tenant', 'acme', '{}', 'cli', 1, 1, 0);
  update head set revision = 1;
  insert into ledger_prices (id, price) values (1, '{"per_request":"0.0000004"}');
  insert into ledger (id, kind, request_id, attempt, key_name, tenant, publication, endpoint, at_ms, amount_nano,
    deadline_ms, tokens, input_tokens, input_amount_nano)
    values (1, 'hold', 'a', 1, 'app', 'acme', 'gpt', 'east', ${NOON_MS}, 900, ${NOON_MS + 60_000}, 500, 110, 110),
      (2, 'hold', 'b', 1, 'app', 'acme', 'gpt', 'east', ${NOON_MS}, 900, ${NOON_MS + 60_000}, 500, 110, 400);
  insert into open_holds (entry_id, path, stream, price_id) values (2, '/v1/chat/completions', 1, 1);
  insert into ledger (id, kind, request_id, attempt, key_name, tenant, publication, endpoint, at_ms, amount_nano,
    input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, search_units, flags, price_id)
    values (3, 'settle', 'a', 1, 'app', 'acme', 'gpt', 'east', ${NOON_MS + 1_000}, 400, 100, 20, 5, 300, 0, '', 1);
  insert into ledger (id, kind, at_ms, amount_nano, tenant, reference)
    values (4, 'credit', ${NOON_MS}, 1000, 'acme', 'inv-1');
  update ledger_head set wallet_version = 4;
  insert into wallets (tenant, balance_units, balance_nano) values ('acme', 0, 600);
  insert into key_totals (key_name, tokens, amount_units, amount_nano) values ('app', 400, 0, 400);
  insert into usage_quarters (key_name, quarter, tenant, publication, endpoint, requests, input_tokens,
    cached_input_tokens, cache_write_tokens, output_tokens, search_units, amount_units, amount_nano, estimated, unpriced)
    values ('app', ${NOON_MS / 900_000}, 'acme', 'gpt', 'east', 1, 100, 20, 5, 300, 0, 0, 400, 0, 0);
  insert into call_logs (at_ms, request_id, key_name, tenant, publication, endpoint, protocol, path, status, stream,
    outcome, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, search_units, amount_nano, flags,
    latency_ms, attempts)
    values (${NOON_MS}, 'a', 'app', 'acme', 'gpt', 'east', 'openai', '/v1/chat/completions', 200, 0, 'answered',
      100, 20, 5, 300, 0, 400, '', 12, 1);`

/** The folder of a store that has the baseline alone, with rows. */
async function baselineStore(more = ''): Promise<string> {
  const folder = tempDir(onTestFinished)
  await makeBaselineStore(folder.at('gw.db'), BASELINE_ROWS + more)
  return folder.path
}

test('a store of the baseline is rejected by readers until a writer has brought it up to date', async () => {
  const folder = await baselineStore()
  const options = { clock: systemClock, folder }
  await expect(openStore('sqlite:gw.db', { ...options, mode: 'read' })).rejects.toMatchObject({
    code: 'store_outdated',
    message: expect.stringContaining('0002-stored-responses'),
  })
  const converted: (readonly string[])[] = []
  const onMigration = (pending: readonly string[]) => void converted.push(pending)
  for (const _ of [1, 2])
    await (await openStore('sqlite:gw.db', { ...options, mode: 'write', onMigration })).close()
  expect(converted).toEqual([MIGRATION_NAMES.slice(1)])
  await (await openStore('sqlite:gw.db', { ...options, mode: 'read' })).close()
})

test('a conversion deletes the tokens that were left with the name of another tenant', async () => {
  const token = (id: number, tenant: string, atMs: number) =>
    `insert into tokens (id, digest, user_id, name, role, tenant, scope, created_at_ms, expires_at_ms)
     values ('t${id}', '${String(id).repeat(64)}', 1, 'n${id}', 'tenant', '${tenant}', 'write', ${atMs}, 9e15);`
  const folder = await baselineStore(`
    insert into users (id, name, role, enabled, password_hash, created_at_ms, version) values (1, 'ada', 'admin', 1, 'h', 0, 1);
    insert into resources (kind, name, spec, owner, created_revision, updated_revision, created_at_ms, account)
      values ('tenant', 'reused', '{}', 'cli', 1, 1, 500, 'reused~r1');
    ${token(1, 'acme', 0)} ${token(2, 'gone', 0)} ${token(3, 'reused', 499)} ${token(4, 'reused', 500)}`)
  const store = await openStore('sqlite:gw.db', { clock: systemClock, folder, mode: 'write' })
  onTestFinished(() => store.close())
  expect((await store.users.tokens({})).map(({ id }) => id)).toEqual(['t1', 't4'])
})

test('the sums of days that a conversion makes are those of their quarters', async () => {
  const folder = await baselineStore(`
    insert into usage_quarters (key_name, quarter, tenant, publication, endpoint, requests, input_tokens,
      cached_input_tokens, cache_write_tokens, output_tokens, search_units, amount_units, amount_nano, estimated, unpriced)
      select key_name, quarter + offset.value, tenant, model.value, endpoint, 2, 7, 0, 0, 1, 0, 1, 5, 1, 0
      from usage_quarters, json_each('[1, 90, 200]') offset, json_each('["gpt", "small"]') model;
    insert into usage_quarters select 'ops', quarter, '', publication, endpoint, requests, input_tokens,
      cached_input_tokens, cache_write_tokens, output_tokens, search_units, amount_units, amount_nano, estimated, unpriced
      from usage_quarters where key_name = 'app'`)
  await (await openStore('sqlite:gw.db', { clock: systemClock, folder, mode: 'write' })).close()
  const raw = new Database(`${folder}/gw.db`)
  const found = [...compareDays(raw, 100)].flat()
  const days = raw.prepare('select count(*) from usage_model_days').pluck().get()
  raw.exec("update usage_key_days set requests = requests + 1 where key_name = 'ops'")
  const changed = [...compareDays(raw, 100)].flat()
  raw.close()
  expect([found, days, changed.length]).toEqual([[], 12, 3])
})

test('a store that a running gateway serves is not converted under it', async () => {
  const folder = await baselineStore()
  const lease = takeLease(`${folder}/gw.db`, 1)
  const open = () => openStore('sqlite:gw.db', { clock: systemClock, folder, mode: 'write' })
  await expect(open()).rejects.toMatchObject({ code: 'store_in_use' })
  lease.release()
  await (await open()).close()
})

test('every column of a call comes through, and every entry of a wallet', async () => {
  const id = 'req_0123456789abcdef01234567'
  const folder = await baselineStore(`
    insert into ledger (id, kind, request_id, attempt, key_name, tenant, publication, endpoint, at_ms, amount_nano,
      deadline_ms, tokens, input_tokens, input_amount_nano)
      values (5, 'hold', '${id}', 2, 'app', 'acme', 'gpt', 'west', ${NOON_MS}, 900, ${NOON_MS}, 500, 110, 110),
        (6, 'hold', 'd', 1, 'app', null, 'gpt', 'west', ${NOON_MS}, 900, ${NOON_MS}, 500, 110, 110);
    insert into ledger (id, kind, request_id, attempt, key_name, tenant, publication, endpoint, at_ms, amount_nano,
      input_tokens, cached_input_tokens, cache_write_tokens, output_tokens, search_units, flags)
      values (7, 'settle', '${id}', 2, 'app', 'acme', 'gpt', 'east', ${NOON_MS + 700}, 0, 1, 2, 3, 4, 5, 'partial,estimated,unpriced');
    insert into ledger (id, kind, request_id, attempt, key_name, publication, endpoint, at_ms, amount_nano, reason)
      values (8, 'release', 'd', 1, 'app', 'gpt', 'west', ${NOON_MS}, 0, 'client_gone');
    insert into ledger (id, kind, at_ms, amount_nano, tenant, reference, note, author)
      values (9, 'debit', ${NOON_MS}, 50, 'acme', 'fee', 'paper', 'ops'), (10, 'adjust', ${NOON_MS}, -3, 'acme', 'fix', null, null);
    update ledger_head set wallet_version = 10;
    update wallets set balance_nano = 547;
    update usage_quarters set requests = 2, input_tokens = 101, cached_input_tokens = 22, cache_write_tokens = 8,
      output_tokens = 304, search_units = 5, estimated = 1, unpriced = 1;
    update key_totals set tokens = 405;
    insert into call_logs (at_ms, request_id, key_name, publication, protocol, path, status, stream, outcome, error_code,
      amount_nano, flags, latency_ms, first_byte_ms, attempts, reason, failed_attempts)
      values (${NOON_MS + 1}, '${id}', 'app', 'gpt', 'anthropic', '/v1/messages', 502, 1, 'failed', 'upstream_error', 7,
        'partial,estimated', 12, 3, 2, 'the disk', '["a: b"]');`)
  const { ledger, store } = await openBoth({}, folder)
  const { findings, ...counts } = await store.accounting.verify()
  expect(counts).toEqual({ entries: 6, archived: 0, openHolds: 1, unfoldedRows: 0 })
  expect(findings).toEqual([expect.objectContaining({ row: 'request b, attempt 1' })]) // overdue since then
  expect(await store.accounting.walletEntries('acme')).toEqual([
    { id: 6, kind: 'adjust', atMs: NOON_MS, amountNano: -3n, reference: 'fix', flags: [] },
    {
      id: 5,
      kind: 'debit',
      atMs: NOON_MS,
      amountNano: -50n,
      reference: 'fee',
      note: 'paper',
      author: 'ops',
      flags: [],
    },
    {
      id: 3,
      kind: 'settle',
      atMs: NOON_MS + 700,
      amountNano: 0n,
      requestId: id,
      key: 'app',
      publication: 'gpt',
      usage: usageOf({
        inputTokens: 1,
        cachedInputTokens: 2,
        cacheWriteTokens: 3,
        outputTokens: 4,
        searchUnits: 5,
      }),
      flags: ['partial', 'estimated', 'unpriced'],
    },
    { id: 2, kind: 'credit', atMs: NOON_MS, amountNano: 1_000n, reference: 'inv-1', flags: [] },
    expect.objectContaining({ id: 1, requestId: 'a', price: '{"per_request":"0.0000004"}', flags: [] }),
  ])
  const [call] = await store.accounting.callLogs({ requestId: id })
  expect(call).toEqual({
    id: 2,
    requestId: id,
    atMs: NOON_MS + 1,
    key: 'app',
    publication: 'gpt',
    protocol: 'anthropic',
    path: '/v1/messages',
    status: 502,
    stream: true,
    outcome: 'failed',
    errorCode: 'upstream_error',
    amountNano: 7n,
    flags: ['partial', 'estimated'],
    latencyMs: 12,
    firstByteMs: 3,
    attempts: 2,
    reason: 'the disk',
    failedAttempts: ['a: b'],
  })
  expect(await store.accounting.callLogs({ minStatus: 400 })).toEqual([call])
  expect(await store.accounting.callLogs({ tenant: 'acme' })).toMatchObject([{ requestId: 'a' }])
  expect(await ledger.adjustments(4)).toMatchObject({
    changes: [
      { tenant: 'acme', amountNano: -50n },
      { tenant: 'acme', amountNano: -3n },
    ],
  })
})

test('a store of the baseline keeps its rows, adds up, and takes new ones', async () => {
  const { ledger, store } = await openBoth({}, await baselineStore())
  expect(await store.accounting.wallet('acme')).toEqual({ tenant: 'acme', balanceNano: 600n, heldNano: 900n })
  expect(await store.accounting.callLogs()).toMatchObject([
    { requestId: 'a', usage: { inputTokens: 100, outputTokens: 300, durationMs: 0, images: 0 } },
  ])
  expect(await ledger.recover(NOON_MS)).toBe(1)
  await ledger.flush()
  expect(await store.accounting.verify()).toEqual(verified({ entries: 3 }))
  await ledger.open(hold('c'))
  await ledger.end(
    settle('c', {
      stored: { ids: ['resp_1'], tokens: 400, outputTokens: 300, expiresAtMs: Number.MAX_SAFE_INTEGER },
    }),
  )
  expect(await ledger.stored(['resp_1'])).toMatchObject([{ id: 'resp_1', tenant: 'acme' }])
  await ledger.open(hold('d'))
  await ledger.end(settle('d', { usage: usageOf({ durationMs: 1_500, characters: 7, images: 2 }) }))
  await ledger.flush()
  expect(await store.accounting.verify()).toEqual(verified({ entries: 5 }))
  const span = { sinceMs: NOON_MS, untilMs: NOON_MS + 1_000 }
  expect(await store.accounting.usage({ by: 'key', ...span })).toMatchObject([
    {
      label: 'app',
      requests: 4,
      inputTokens: 310,
      outputTokens: 600,
      amountNano: 1_600n,
      durationMs: 1_500,
      images: 2,
    },
  ])
})
