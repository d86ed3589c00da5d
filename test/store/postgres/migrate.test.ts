import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { openStore } from '../../../src/store/open.ts'
import { parsePostgresUrl } from '../../../src/store/postgres/address.ts'
import { insertInstance } from '../../../src/store/postgres/ledger/instance-rows.ts'
import { LaneConnection } from '../../../src/store/postgres/ledger/lane-connection.ts'
import { ownIdentity } from '../../../src/store/postgres/ledger/process-identity.ts'
import { storeDatabase } from '../../support/postgres.ts'

/** Back to the store before the sums without keys, with two days of a key. */
const BEFORE = `
  drop table usage_key_days, usage_model_days;
  delete from kysely_migration where name = '0015-usage-without-keys';
  insert into usage_quarters
  select key, 96 * day + 5, 'acme', model, 'east', 1, 10, 0, 0, 5, 0, 0, 0, 0, 0, 7, 0, 0
  from unnest(array['app', 'job']) key, unnest(array['gpt', 'small']) model, unnest(array[20000, 20001]) day;
  insert into usage_days
  select key_name, quarter / 96, tenant, publication, endpoint, requests, input_tokens, 0, 0, output_tokens, 0, 0, 0, 0,
    0, amount_nano, 0, 0
  from usage_quarters`

test('a database is converted when no gateway of an older version serves it, and its sums add up', async () => {
  const { url, execute, query } = await storeDatabase(onTestFinished)
  await execute(BEFORE)
  const db = new LaneConnection(parsePostgresUrl(url, 'test'))
  onTestFinished(() => db.close())
  const gateway = await insertInstance(db, ownIdentity(), 60_000)
  const open = () => openStore(url, { clock: systemClock, mode: 'write' })
  await expect(open()).rejects.toMatchObject({ code: 'store_in_use' })

  await execute(`update instances set expires_at_ms = 0 where id = '${gateway}'`)
  await (await open()).close()
  const sums = (table: string) =>
    query(
      `select count(*)::int, sum(requests)::int as requests, sum(amount_nano)::int as amount from ${table}`,
    )
  expect(await sums('usage_key_days')).toEqual([{ count: 4, requests: 8, amount: 56 }])
  expect(await sums('usage_model_days')).toEqual([{ count: 4, requests: 8, amount: 56 }])
})
