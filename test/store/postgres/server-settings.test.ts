import { expect, onTestFinished, test } from 'vitest'
import { parsePostgresUrl } from '../../../src/store/postgres/address.ts'
import { openConnections } from '../../../src/store/postgres/open.ts'
import { type Settings, settingsFault } from '../../../src/store/postgres/server-settings.ts'
import { changeSetting, emptyDatabase } from '../../support/postgres.ts'
import { BEHIND_POOLER } from '../../support/test-engine.ts'

const open = (url: string) => openConnections(parsePostgresUrl(url, 'test'), 'create')

test.each([
  ['default_transaction_isolation', 'serializable', 'read committed'],
  ['standard_conforming_strings', 'off', 'on'],
  ['array_nulls', 'off', 'on'],
])(
  'a database with %s = %s is rejected, with the statement that corrects it',
  async (setting, value, right) => {
    const database = await emptyDatabase(onTestFinished)
    await changeSetting(database, setting, value)
    await expect(open(database.url)).rejects.toMatchObject({
      code: 'store_unavailable',
      message: expect.stringContaining(`${setting} = '${value}'`),
      hint: expect.stringContaining(`set ${setting} = '${right}'`),
    })
    // pgbouncer goes on with the value of this setting that it has seen first.
    if (BEHIND_POOLER && setting === 'standard_conforming_strings') return
    await changeSetting(database, setting, right)
    await (await open(database.url)).end()
  },
)

test('a database with an encoding that lacks characters is rejected before it has tables', async () => {
  const { url, execute } = await emptyDatabase(onTestFinished)
  const name = `${new URL(url).pathname.slice(1)}_latin1`
  await execute(`create database ${name} encoding 'LATIN1' locale 'C' template template0`)
  onTestFinished(() => execute(`drop database ${name} with (force)`))
  await expect(open(url.replace(/[^/]+$/, name))).rejects.toMatchObject({
    message: expect.stringContaining('has the encoding LATIN1'),
    hint: expect.stringContaining('--encoding UTF8'),
  })
})

test('a server that is too old is named with its version', () => {
  const settings: Settings = {
    server_version: '14.12',
    server_version_num: '140012',
    server_encoding: 'UTF8',
    default_transaction_isolation: 'read committed',
    standard_conforming_strings: 'on',
    array_nulls: 'on',
  }
  expect(settingsFault(settings)).toMatchObject({ message: 'is PostgreSQL 14.12' })
  expect(settingsFault({ ...settings, server_version: '15.0', server_version_num: '150000' })).toBe(undefined)
})
