import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { openStore } from '../../../src/store/open.ts'
import { lockWaiters, storeDatabase } from '../../support/postgres.ts'
import { postgresWriter } from '../../support/postgres-writer.ts'
import { hold, NOON_MS, release, settle } from '../ledger/rows.ts'
import { verified } from '../ledger/verified.ts'
import { canonical, MINE, put } from '../samples.ts'

const PRICE = '{"input":"1","output":"1"}'
/** 80 tokens at 1 for a million that are in no cache, 20 and 5 that are, 300 out. */
const CHARGE_NANO = 400_000n

/** A ledger with something in every table: one call has ended with a charge, one without, and one is open. */
async function setUp() {
  const database = await storeDatabase(onTestFinished)
  let nowMs = NOON_MS
  const clock = { ...systemClock, nowMs: () => nowMs }
  const store = await openStore(database.url, { mode: 'write', clock })
  onTestFinished(() => store.close())
  const { accounting } = store
  await put(store, { kind: 'tenant', name: 'acme', spec: canonical('tenant', {}), ...MINE })
  await accounting.credit({ tenant: 'acme', amountNano: 10_000_000n, reference: 'inv-1' })
  const writer = await postgresWriter(database.url, () => nowMs)
  onTestFinished(() => writer.close())
  const faults = await writer.write([
    ['hold', hold('a', { price: PRICE })],
    ['hold', hold('b')],
    ['hold', hold('c')],
    ['end', settle('a', { amountNano: CHARGE_NANO })],
    ['end', release('b')],
  ])
  expect(faults).toEqual([])
  await writer.fold()
  return {
    accounting,
    database,
    findings: async () =>
      (await accounting.verify()).findings.map(one => `${one.table} ${one.row}: ${one.problem}`),
    /** As the owner of the database can: no trigger keeps anything. */
    tamper: (statement: string) => database.execute(`set session_replication_role = replica; ${statement}`),
    passes: (ms: number) => {
      nowMs += ms
    },
  }
}

test('a ledger that adds up has no findings', async () => {
  const { accounting } = await setUp()
  expect(await accounting.verify()).toEqual(verified({ entries: 3, openHolds: 1 }))
})

test('entries that an archive puts into other partitions meanwhile are found by all who read them', async () => {
  const { accounting, database } = await setUp()
  const before = await accounting.walletEntries('acme')
  await database.execute(`
    set session_replication_role = replica; begin; lock table ledger in access exclusive mode;
    create temp table moved as select * from ledger`)
  const verifying = accounting.verify()
  const listing = accounting.walletEntries('acme')
  await lockWaiters(database, 2)
  await database.execute('truncate ledger; insert into ledger select * from moved; commit')
  expect(await verifying).toEqual(verified({ entries: 3, openHolds: 1 }))
  expect(await listing).toEqual(before)
})

const OF = (request: string) => `request = '${request}'::bytea || decode(repeat('00', 12), 'hex')`

test.each([
  ['a changed balance', 'update wallets set balance_nano = 9', /^wallets acme: is 9, .* come to 9600000$/m],
  ['a lost wallet', 'delete from wallets', /^wallets acme: is 0, .* come to 9600000$/m],
  [
    'a wallet without entries',
    `insert into wallets values ('ghost', 1, 0)`,
    /^wallets ghost: is 1000000000/m,
  ],
  [
    'a lost credit',
    'update ledger_head set wallet_version = 0',
    /^wallets version: is not that of the last/m,
  ],
  ['changed tokens', 'update key_totals set tokens = 1', /^key_totals app: counts differ/m],
  ['changed spending', 'update key_totals set amount_units = 1', /^key_totals app: is 1000400000/m],
  ['lost totals', 'delete from key_totals', /^key_totals app: is 0/m],
  ['a changed quarter', 'update usage_quarters set estimated = 1', /^usage_quarters app, .*: counts differ/m],
  [
    'a lost quarter',
    'delete from usage_quarters',
    /^usage_quarters app, .*: is 0, but the entries come to 400000/m,
  ],
  [
    'a quarter too many',
    `insert into usage_quarters select key_name, quarter + 1, tenant, publication, endpoint, 1,1,1,1,1,1,1,1,1,1,1,1,1
     from usage_quarters`,
    /^usage_quarters app, .*: is \d+, but the entries come to 0/m,
  ],
  ['a changed day', 'update usage_days set output_tokens = 299', /^usage_days app, .*: counts differ/m],
  ['a lost day', 'delete from usage_days', /^usage_days app, .*: is 0, /m],
  [
    'a changed day of a key',
    'update usage_key_days set requests = 2',
    /^usage_key_days app, .*: counts differ/m,
  ],
  ['a lost day of a key', 'delete from usage_key_days', /^usage_key_days app, .*: is 0, /m],
  [
    'a changed day of a model',
    'update usage_model_days set output_tokens = output_tokens - 1',
    /^usage_model_days .*gpt, east: counts differ/m,
  ],
  ['a lost day of a model', 'delete from usage_model_days', /^usage_model_days .*gpt, east: is 0, /m],
  [
    'an open hold that was dropped',
    'delete from older_holds',
    /^open_holds request c, .*: is neither open, nor/m,
  ],
  [
    'a hold that was dropped',
    `delete from holds where ${OF('a')}`,
    /^ledger request a, .*: has ended, and was never/m,
  ],
  [
    'a changed amount',
    'update ledger set amount_nano = 1 where kind = 0',
    /^wallets acme: is 9600000, .* 9999999$/m,
  ],
  [
    'a lost entry',
    'delete from ledger where kind = 0',
    /^open_holds request a, .*: is neither open, nor has it ended/m,
  ],
  [
    'a lost release',
    'delete from ledger where kind = 1',
    /^open_holds request b, .*: is neither open, nor has it/m,
  ],
  ['the end of ends', 'drop index ledger_once', /^ledger index ledger_once: is missing/m],
  [
    'a charge of another tenant',
    `update ledger set tenant_id = key_id where kind = 0`,
    /^wallets acme: is 9600000, .* 10000000$/m,
  ],
  [
    'a lost name',
    `update ledger set key_id = 99 where kind = 0`,
    /^key_totals app: is 400000, .* come to 0$/m,
  ],
  [
    'a credit of another tenant',
    'update ledger set tenant_id = 99 where kind >= 2',
    /^adjustments entry \d+: there is no such entry of its tenant$/m,
  ],
  ['a lost adjustment', 'delete from adjustments', /^adjustments id \d+: says nothing of its reference$/m],
  [
    'a share without a grant',
    `insert into shares (instance, owner, limit_name, amount) select id, 'key app', 'quota', 5 from instances;
     insert into scopes values ('key app', 'quota', 'sum', 10, 0, 1, 0, 0, 0, 4, 0, 1)`,
    /^shares key app, quota: what is leased differs/m,
  ],
])('finds %s', async (_, statement, expected) => {
  const { tamper, findings } = await setUp()
  await tamper(statement)
  expect((await findings()).join('\n')).toMatch(expected)
})

test('finds a charge that differs from its price and usage, where all sums agree with it', async () => {
  const { tamper, findings } = await setUp()
  const more = (table: string, column = 'amount_nano') => `update ${table} set ${column} = ${column} + 1;`
  await tamper(
    `update ledger set amount_nano = amount_nano + 1 where kind = 0; update wallets set balance_nano = balance_nano - 1;
     ${['key_totals', 'usage_quarters', 'usage_days', 'usage_key_days', 'usage_model_days'].map(table => more(table)).join(' ')}`,
  )
  expect(await findings()).toEqual([
    expect.stringMatching(/^ledger id \d+: was billed 400001, but its price and usage come to 400000$/),
  ])
})

test('finds a hold that is open long after its deadline', async () => {
  const { passes, findings } = await setUp()
  passes(180_000)
  expect(await findings()).toEqual([])
  passes(1_000)
  expect(await findings()).toEqual(['open_holds request c, attempt 1: is open 121 s after its deadline'])
})
