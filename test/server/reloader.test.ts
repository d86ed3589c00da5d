import { describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { createLog } from '../../src/base/log.ts'
import { Reloader } from '../../src/server/reloader.ts'
import { SnapshotHolder } from '../../src/snapshot/holder.ts'
import { commitOn, digest, endpoint, key, put } from '../store/samples.ts'
import { emptyDatabase } from '../store/stores.ts'
import { gate } from '../support/gate.ts'
import { testClock } from '../support/test-clock.ts'

async function setUp(environment: Record<string, string> = {}) {
  const database = emptyDatabase(onTestFinished)
  const clock = testClock()
  // Real time for the stores: one in PostgreSQL has timers of its own.
  const [store, other] = [await database.open(systemClock), await database.open(systemClock)]
  const holder = new SnapshotHolder()
  let swapped = gate()
  /** Earlier revisions that were read. */
  const readBack: number[] = []
  const reloader = new Reloader({
    store: {
      readState: before => store.readState(before),
      changed: () => store.changed(),
      readStateAt(revision) {
        readBack.push(revision)
        return store.readStateAt(revision)
      },
    },
    holder,
    clock,
    environment,
    masterKey: { read: () => Promise.reject(new Error('nothing is sealed here')) },
    log: createLog({ write: () => undefined }, { level: 'silent', pretty: false, colour: false }),
    prepare: () => Promise.resolve(),
    onSwap: () => swapped.open(),
  })
  onTestFinished(() => reloader.stop())
  return {
    other,
    holder,
    readBack,
    reloader,
    entry: (digit: string) => holder.current()?.keys.get(digest(digit)),
    /** The next look has taken something over. */
    swap: async (afterMs = 250) => {
      swapped = gate()
      await expect.poll(() => store.changed()).toBe(true)
      await clock.waiting()
      clock.advance(afterMs)
      await swapped.opened
    },
  }
}

test('a commit of another process is served by a look within 100 ms', async () => {
  const { other, holder, reloader, swap } = await setUp()
  await put(other, key('first'))
  await reloader.start()
  for (const revision of [2, 3, 4]) {
    await put(other, key(`key-${revision}`))
    await swap(100)
    expect(holder.current()?.revision).toBe(revision)
  }
})

test('a reload makes anew only what has changed', async () => {
  const { other, reloader, entry, swap } = await setUp()
  await put(other, key('changes'), key('stays'))
  await other.issueSecrets([{ key: 'changes', digest: digest('1') }])
  await other.issueSecrets([{ key: 'stays', digest: digest('2') }])
  await reloader.start()
  const [changes, stays] = [entry('1'), entry('2')]
  await put(other, key('changes', { quota: 5 }), key('new'))
  await swap()
  expect(entry('1')).toMatchObject({ ...changes, quotaTokens: 5, mayUse: expect.any(Function) })
  expect(entry('2')).toBeDefined()
  expect(entry('2')).toBe(stays)
})

describe('a revision that cannot be served', () => {
  const hash = (digit: string) => ({ hash: `sha256:${digest(digit)}` })
  const unservable = endpoint('e', { upstream_key: { env: 'NOT_SET' } })

  test.each([true, false])(
    'closes the keys that it disables or drops (one by hand before: %s)',
    async byHand => {
      const { other, holder, reloader, entry, swap } = await setUp()
      await put(
        other,
        ...['held', 'disabled', 'dropped', 'stays'].map((name, at) => key(name, hash(String(at)))),
      )
      if (byHand) await other.suspendKey('held')
      await reloader.start()
      const isOpen = () => ['0', '1', '2', '3'].map(digit => entry(digit)?.enabled)
      expect(isOpen()).toEqual([!byHand, true, true, true])
      const closed = ['held', 'disabled'].map((name, at) =>
        key(name, { ...hash(String(at)), enabled: false }),
      )
      const deletes = [{ kind: 'key' as const, name: 'dropped' }]
      await other.commit(commitOn(1, { puts: [...closed, unservable], deletes }))
      await swap()
      expect(isOpen()).toEqual([false, false, false, true])
      await reloader.stop()
      expect(holder.report()).toMatchObject({ revision: 1, rejected: { revision: 2 } })
    },
  )

  test('does so for a gateway that starts with it, too', async () => {
    const { other, holder, reloader, entry } = await setUp()
    await put(other, key('held', hash('0')), key('stays', hash('1')))
    await other.suspendKey('held')
    await put(other, key('held', { ...hash('0'), enabled: false }), unservable)
    await reloader.start()
    expect(holder.current()?.revision).toBe(1)
    expect([entry('0')?.enabled, entry('1')?.enabled]).toEqual([false, true])
  })

  test('is not read back where it is the one that is served, and only a secret of it has gone', async () => {
    const environment: Record<string, string> = { KEY: 'a secret of twenty characters' }
    const { other, holder, readBack, reloader } = await setUp(environment)
    await put(other, key('k', { secret: { env: 'KEY' } }))
    await reloader.start()
    delete environment['KEY']
    await reloader.reload()
    expect(holder.report()).toMatchObject({ ok: false, revision: 1, rejected: { revision: 1 } })
    expect(readBack).toEqual([])
    await other.suspendKey('k')
    await reloader.reload()
    expect(readBack).toEqual([1])
  })

  test('lets no key go on that is disabled while a secret of an endpoint has gone, and heals', async () => {
    const environment: Record<string, string> = { KEY: 'a secret' }
    const { other, holder, reloader, entry } = await setUp(environment)
    await put(other, key('held', hash('0')), key('revoked'), endpoint('e', { upstream_key: { env: 'KEY' } }))
    await other.issueSecrets([{ key: 'revoked', digest: digest('1') }])
    await reloader.start()
    delete environment['KEY']
    await reloader.reload()
    expect([entry('0')?.enabled, entry('1')?.enabled]).toEqual([true, true])
    await other.suspendKey('held')
    await reloader.reload()
    expect([entry('0')?.enabled, entry('1')?.enabled]).toEqual([false, true])
    await other.revokeSecrets('revoked')
    await reloader.reload()
    expect(entry('1')).toBeUndefined()
    expect(holder.report()).toMatchObject({ ok: false, rejected: { revision: 1 } })
    environment['KEY'] = 'another secret'
    await other.resumeKey('held')
    await reloader.reload()
    expect(holder.report()).toMatchObject({ ok: true, revision: 1 })
    expect(entry('0')?.enabled).toBe(true)
  })
})
