import { expect, onTestFinished, test } from 'vitest'
import { parsePostgresUrl } from '../../../src/store/postgres/address.ts'
import { insertInstance } from '../../../src/store/postgres/ledger/instance-rows.ts'
import { LaneConnection } from '../../../src/store/postgres/ledger/lane-connection.ts'
import { dropFoldedHolds, Partitions } from '../../../src/store/postgres/ledger/partitions.ts'
import { ownIdentity } from '../../../src/store/postgres/ledger/process-identity.ts'
import { storeDatabase } from '../../support/postgres.ts'

const [FIRST, SECOND, THIRD] = [14, 15, 16].map(day => Date.UTC(2026, 0, day, 12)) as [number, number, number]

test('days of holds are dropped up to the first that a gateway has not folded, but for the last days', async () => {
  const { url, execute, query } = await storeDatabase(onTestFinished)
  const db = new LaneConnection(parsePostgresUrl(url, 'test'))
  onTestFinished(() => db.close())
  const [now] = await query<{ ms: string }>('select (extract(epoch from now()) * 1000)::bigint::text as ms')
  const today = Number(now?.ms)
  const partitions = new Partitions()
  await partitions.ensure(db, 'holds', [THIRD, today, FIRST, SECOND])
  const insert = (instance: string, atMs: number) =>
    execute(`insert into holds (instance, request, attempt, key_id, publication_id, endpoint_id, opened_at_ms,
        deadline_ms, amount_nano, tokens, input_tokens, input_amount_nano)
      select serial, '\\x01', 1, 1, 1, 1, ${atMs}, ${atMs}, 1, 1, 1, 1 from instances where id = '${instance}'`)
  const [one, other] = [
    await insertInstance(db, ownIdentity(), 60_000),
    await insertInstance(db, ownIdentity(), 60_000),
  ]
  for (const atMs of [FIRST, THIRD, today]) await insert(one, atMs)
  await insert(other, SECOND)
  const fold = (instance: string) =>
    execute(`update instances set folded_hold = (select max(id) from holds) where id = '${instance}'`)
  const left = async () =>
    (await query<{ at: string }>('select opened_at_ms::text as at from holds order by 1')).map(
      ({ at }) => +at,
    )

  await dropFoldedHolds(db)
  expect(await left()).toEqual([FIRST, SECOND, THIRD, today])
  await fold(one)
  await dropFoldedHolds(db)
  expect(await left()).toEqual([SECOND, THIRD, today])
  await fold(other)
  await dropFoldedHolds(db)
  expect(await left()).toEqual([today])
  // A gateway whose clock is wrong makes a day again that is gone.
  await partitions.ensure(db, 'holds', [FIRST])
  await insert(one, FIRST)
  expect(await left()).toEqual([FIRST, today])
})

test('several gateways that need the same day at once all have it', async () => {
  const { url, query } = await storeDatabase(onTestFinished)
  const gateways = Array.from({ length: 6 }, () => {
    const db = new LaneConnection(parsePostgresUrl(url, 'test'))
    onTestFinished(() => db.close())
    return { db, partitions: new Partitions() }
  })
  await Promise.all(gateways.map(({ db }) => db.connect()))
  const days = Array.from({ length: 40 }, (_, day) => FIRST + day * 86_400_000)
  for (const day of days)
    await Promise.all(gateways.map(({ db, partitions }) => partitions.ensure(db, 'holds', [day])))
  const made = await query<{ name: string }>(
    `select c.relname as name from pg_inherits join pg_class c on c.oid = inhrelid where inhparent = 'holds'::regclass`,
  )
  expect(made.filter(({ name }) => /^holds_2026(01|02)/.test(name))).toHaveLength(days.length)
})
