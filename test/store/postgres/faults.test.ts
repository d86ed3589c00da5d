import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import type { StoreMode } from '../../../src/store/database.ts'
import { openStore } from '../../../src/store/open.ts'
import { freePort } from '../../support/free-port.ts'
import { emptyDatabase, storeDatabase } from '../../support/postgres.ts'
import { BEHIND_POOLER } from '../../support/test-engine.ts'
import { endpoint, put } from '../samples.ts'

async function open(url: string, mode: StoreMode = 'create', environment = {}) {
  const store = await openStore(url, { mode, clock: systemClock, environment })
  onTestFinished(() => store.close())
  return store
}

test('a server that is not there is named without the password', async () => {
  const port = await freePort()
  await expect(open(`postgres://gw:canary@127.0.0.1:${port}/gw`)).rejects.toMatchObject({
    code: 'store_unavailable',
    message: expect.stringMatching(/^postgres:\/\/127\.0\.0\.1:\d+\/gw cannot be used: (?!.*canary)/),
  })
})

// pgbouncer says by itself that it cannot log in, and keeps its connections with their settings.
const testDirect = test.skipIf(BEHIND_POOLER)

testDirect('a database that is not there says how to make it', async () => {
  const { url } = await emptyDatabase(onTestFinished)
  await expect(open(url.replace(/test_\d+$/, 'none'))).rejects.toMatchObject({
    code: 'store_unavailable',
    hint: expect.stringContaining('createdb'),
  })
})

test.each(['read', 'write'] as const)('an empty database is no store yet in mode %s', async mode => {
  const { url } = await emptyDatabase(onTestFinished)
  await expect(open(url, mode)).rejects.toMatchObject({ code: 'store_missing' })
})

test('a database of another program is left alone', async () => {
  const { url, execute } = await emptyDatabase(onTestFinished)
  await execute('create table users (id integer)')
  await expect(open(url)).rejects.toMatchObject({
    code: 'store_unavailable',
    message: expect.stringContaining('another program'),
  })
})

test('a store of a newer gw is rejected', async () => {
  const { url, execute } = await storeDatabase(onTestFinished)
  await execute(`insert into kysely_migration values ('9999-future', 'now')`)
  await expect(open(url)).rejects.toMatchObject({
    code: 'store_too_new',
    message: expect.stringContaining('9999-future'),
  })
})

testDirect('a server that only reads says that it is a replica', async () => {
  const { url, execute } = await storeDatabase(onTestFinished)
  const store = await open(url)
  await execute(`alter database ${new URL(url).pathname.slice(1)} set default_transaction_read_only = on`)
  const later = await open(url, 'write')
  await expect(put(later, endpoint('a'))).rejects.toMatchObject({
    code: 'store_unavailable',
    hint: expect.stringContaining('GW_STORE_READ'),
  })
  expect((await store.live()).resources).toEqual([])
})

test('a server without TLS is not talked to by sslmode=require', async () => {
  const { url } = await storeDatabase(onTestFinished)
  await expect(open(`${url}?sslmode=require`)).rejects.toMatchObject({
    code: 'store_unavailable',
    hint: expect.stringContaining('sslmode=disable'),
  })
})

test('GW_STORE_READ is where commands read, and nothing is written', async () => {
  const main = await storeDatabase(onTestFinished)
  const replica = await storeDatabase(onTestFinished)
  await put(await open(main.url), endpoint('a'))
  const environment = { GW_STORE_READ: replica.url }
  expect((await (await open(main.url, 'read', environment)).live()).resources).toEqual([])
  expect((await (await open(main.url, 'write', environment)).live()).resources).toHaveLength(1)
})
