import { createHash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { parsePostgresUrl } from '../../../src/store/postgres/address.ts'
import { LaneConnection } from '../../../src/store/postgres/ledger/lane-connection.ts'
import { faultyWay } from '../../support/faulty-way.ts'
import { emptyDatabase } from '../../support/postgres.ts'

const SQL = 'select $1::int8 + 1'
const KEPT = `select count(*) from pg_prepared_statements where statement = '${SQL}'`

let url: string
beforeAll(async () => {
  url = (await emptyDatabase(afterAll)).url
}, 60_000)

function setUp() {
  const db = new LaneConnection(parsePostgresUrl(url, 'test'))
  onTestFinished(() => db.close())
  const ask = async (text: string, values?: readonly number[]) =>
    (await db.query(text, values)).rows[0]?.[0] as number
  const repeat = async () => [
    await ask(SQL, [1]),
    await ask(SQL, [2]),
    await ask(SQL, [3]),
    await ask(SQL, [4]),
  ]
  return { db, ask, repeat }
}

describe('a statement that runs again and again', () => {
  test('is kept by the server', async () => {
    const { ask, repeat } = setUp()
    expect(await repeat()).toEqual([2, 3, 4, 5])
    expect(await ask(KEPT)).toBe(1)
  })

  test('is not kept any more where sessions change', async () => {
    const { ask, repeat } = setUp()
    await repeat()
    await ask('deallocate all')
    expect(await ask(SQL, [5])).toBe(6)
    expect(await repeat()).toEqual([2, 3, 4, 5])
    expect(await ask(KEPT)).toBe(0)
  })

  test('is not kept where a session of a pooler has it already', async () => {
    const { ask, repeat } = setUp()
    const name = `gw_${createHash('sha256').update(SQL).digest('hex').slice(0, 32)}`
    await ask(`prepare ${name} as select 1`)
    expect(await repeat()).toEqual([2, 3, 4, 5])
  })

  test('is planned again when its tables are those of another version', async () => {
    const { db, ask } = setUp()
    await ask('create table versioned as select 1::int8 as id')
    const select = 'select * from versioned where id = $1'
    for (let run = 0; run < 4; run++) expect((await db.query(select, [1])).rows).toEqual([[1]])
    await ask('alter table versioned add column more int8 default 2')
    expect((await db.query(select, [1])).rows).toEqual([[1, 2]])
  })

  test('fails as any other: the connection goes on', async () => {
    const { ask } = setUp()
    const divide = 'select 12::int8 / $1::int8'
    for (const by of [1, 2, 3]) expect(await ask(divide, [by])).toBe(12 / by)
    await expect(ask(divide, [0])).rejects.toMatchObject({ code: '22012' })
    expect(await ask(divide, [4])).toBe(3)
  })
})

describe('a server that accepts and is silent', () => {
  async function stalled() {
    const address = parsePostgresUrl(url, 'test')
    const way = await faultyWay(address.port, onTestFinished)
    const db = new LaneConnection({ ...address, port: way.port })
    onTestFinished(() => db.close())
    const open = () => db.connect().catch((error: Error) => error.message)
    return { way, db, open }
  }

  test('for three seconds does not fail the first connection, for which the start waits', async () => {
    const { way, db, open } = await stalled()
    way.set('stall')
    const opened = open()
    await pause(3_000)
    way.set('open')
    expect(await opened).toBe(1)
    expect((await db.query(SQL, [1])).rows).toEqual([[2]])
  })

  test('for three seconds fails a later connection, for which a call waits', async () => {
    const { way, open } = await stalled()
    expect(await open()).toBe(1)
    way.set('cut')
    await expect.poll(open).not.toBe(1)
    way.set('stall')
    expect(await open()).toBe('timeout expired')
  })

  test('holds nothing up that closes', async () => {
    const { way, db, open } = await stalled()
    way.set('stall')
    const opened = open()
    await expect.poll(() => way.connections()).toBe(1)
    await db.close()
    expect(await Promise.race([opened, pause(1_000)])).toMatch(/terminated/)
  })
})
