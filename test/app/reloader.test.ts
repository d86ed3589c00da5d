import { expect, onTestFinished, test } from 'vitest'
import { Reloader } from '../../src/app/reloader.ts'
import { createLog } from '../../src/base/log.ts'
import { SnapshotHolder } from '../../src/snapshot/holder.ts'
import { digest, key, put } from '../store/samples.ts'
import { STORES } from '../store/stores.ts'
import { gate } from '../support/gate.ts'
import { testClock } from '../support/test-clock.ts'

test('a reload makes anew only what has changed', async () => {
  const database = STORES['sqlite']?.(onTestFinished)
  if (!database) throw new Error('there is no such store')
  const clock = testClock()
  const [store, other] = [await database.open(clock), await database.open(clock)]
  await put(other, key('changes'), key('stays'))
  await other.issueSecret('changes', digest('1'))
  await other.issueSecret('stays', digest('2'))

  const holder = new SnapshotHolder()
  let swapped = gate()
  const reloader = new Reloader({
    store,
    holder,
    clock,
    environment: {},
    masterKey: { read: () => Promise.reject(new Error('nothing is sealed here')) },
    log: createLog({ write: () => undefined }, { level: 'error', pretty: false, colour: false }),
    prepare: () => Promise.resolve(),
    onSwap: () => swapped.open(),
  })
  onTestFinished(() => reloader.stop())
  const entry = (digit: string) => holder.current()?.keys.get(digest(digit))
  await reloader.start()
  const [changes, stays] = [entry('1'), entry('2')]

  swapped = gate()
  await put(other, key('changes', { quota: 5 }), key('new'))
  await clock.waiting()
  clock.advance(250)
  await swapped.opened
  expect(entry('1')).toMatchObject({ ...changes, quotaTokens: 5, mayUse: expect.any(Function) })
  expect(entry('2')).toBeDefined()
  expect(entry('2')).toBe(stays)
})
