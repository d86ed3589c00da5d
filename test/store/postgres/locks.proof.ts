import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { openStore } from '../../../src/store/open.ts'
import { storeDatabase } from '../../support/postgres.ts'
import { endpoint, put } from '../samples.ts'

test('a commit that another process holds up for five seconds is locked, and works afterwards', async () => {
  const { url, execute } = await storeDatabase(onTestFinished)
  const store = await openStore(url, { mode: 'write', clock: systemClock })
  onTestFinished(() => store.close())
  await execute('begin; select pg_advisory_xact_lock(26487, 2)')
  await expect(put(store, endpoint('a'))).rejects.toMatchObject({ code: 'store_locked' })
  await execute('rollback')
  expect((await put(store, endpoint('a'))).id).toBe(1)
})
