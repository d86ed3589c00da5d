import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { openStore } from '../../../src/store/open.ts'
import { parsePostgresUrl } from '../../../src/store/postgres/address.ts'
import { insertInstance } from '../../../src/store/postgres/ledger/instance-rows.ts'
import { LaneConnection } from '../../../src/store/postgres/ledger/lane-connection.ts'
import { ownIdentity } from '../../../src/store/postgres/ledger/process-identity.ts'
import { applyMessage } from '../../../src/store/postgres/ledger/shares.ts'
import { OwnPostgres } from '../../support/own-postgres.ts'

/** Does not sync by itself, and writes what is not synced late. */
let server: OwnPostgres

beforeAll(async () => {
  server = await OwnPostgres.create(afterAll, { synchronous_commit: 'off', wal_writer_delay: '10s' })
  await server.start()
  await server.createDatabase()
  const store = await openStore(server.database.url, { mode: 'create', clock: systemClock })
  await store.close()
  // Everything so far is on the disk.
  await server.stop()
  await server.start()
}, 60_000)

async function loseWhatIsNotSynced(): Promise<void> {
  await server.kill()
  await server.start()
}

test('a server that does not sync by default loses what is not synced: the control', async () => {
  await server.query('create table control (id int)')
  await loseWhatIsNotSynced()
  expect(await server.query(`select to_regclass('control') is null as lost`)).toEqual([{ lost: true }])
})

test('a granted share is on the disk', async () => {
  const db = new LaneConnection(parsePostgresUrl(server.database.url, 'test'))
  onTestFinished(() => db.close())
  const instance = await insertInstance(db, ownIdentity(), 60_000)
  // Another one is alive, so that this one does not get everything.
  await insertInstance(db, ownIdentity(), 60_000)
  const request = {
    scope: { owner: 'key a', limit: 'rpm' },
    terms: { kind: 'rate', bound: 20n, perMinute: 600n, revision: 1, sinceMs: 0 },
    used: 0n,
    corrected: 0n,
    returned: 0n,
    least: 5n,
    most: 5n,
  } as const
  const reply = await applyMessage(db, { instance, number: 1, requests: [request] }, 60_000)
  expect(reply).toMatchObject({ is: 'granted', answers: [{ granted: 5n }] })
  await loseWhatIsNotSynced()
  expect(await server.query('select leased::int from scopes')).toEqual([{ leased: 5 }])
})

test('a change over the control plane is on the disk', async () => {
  const store = await openStore(server.database.url, { mode: 'write', clock: systemClock })
  await store.switchMaintenanceOn({})
  await loseWhatIsNotSynced()
  expect(await server.query('select count(*)::int as switched from maintenance')).toEqual([{ switched: 1 }])
  await store.close()
})
