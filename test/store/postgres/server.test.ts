import { expect, onTestFinished, test } from 'vitest'
import { parsePostgresUrl } from '../../../src/store/postgres/address.ts'
import { MIGRATIONS } from '../../../src/store/postgres/migrations/list.ts'
import { openConnections } from '../../../src/store/postgres/open.ts'
import { emptyDatabase, storeDatabase } from '../../support/postgres.ts'

test('a database of a test has the tables of an empty store, and is shared with no other', async () => {
  const one = await storeDatabase(onTestFinished)
  const other = await storeDatabase(onTestFinished)
  await one.execute('update head set revision = 5')
  expect(await other.query('select revision::int from head')).toEqual([{ revision: 0 }])
})

test('any number of processes make the tables of an empty database at once', async () => {
  const database = await emptyDatabase(onTestFinished)
  const address = parsePostgresUrl(database.url, 'test')
  const all = await Promise.all(Array.from({ length: 5 }, () => openConnections(address, 'create')))
  for (const connections of all) await connections.end()
  expect(await database.query('select name from kysely_migration')).toEqual(
    Object.keys(MIGRATIONS).map(name => ({ name })),
  )
})
