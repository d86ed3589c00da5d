import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { copyStore } from '../../../src/store/copy.ts'
import { select } from '../../support/past-the-store.ts'
import { testClock } from '../../support/test-clock.ts'
import { ON_POSTGRES } from '../../support/test-engine.ts'
import { openBoth } from './opened.ts'
import { hold, NOON_MS, release, settle } from './rows.ts'

const DAY_MS = 86_400_000
const LATER_MS = NOON_MS + 30 * DAY_MS

const kept = (...ids: readonly string[]) => ({ ids, tokens: 400, outputTokens: 300, expiresAtMs: LATER_MS })

async function scene() {
  const clock = testClock(NOON_MS)
  const opened = await openBoth({ clock })
  const { ledger, url } = opened
  return {
    ...opened,
    clock,
    /** An answer that the upstream keeps under these ids. */
    answered: async (requestId: string, more: Parameters<typeof settle>[1]) => {
      const end = settle(requestId, more)
      const { key, tenant, publication, endpoint } = end
      await ledger.open(hold(requestId, { key, tenant, publication, endpoint }))
      await ledger.end(end)
      await ledger.flush()
    },
    rows: async () =>
      (await select<{ id: string }>(url, 'select id from stored_responses order by id')).map(({ id }) => id),
    ownerOf: async (id: string) => {
      const [stored] = await ledger.stored([id])
      return stored && `${stored.tenant ?? stored.key} at ${stored.endpoint}`
    },
  }
}

test('ids are written with their settlement, and each has one answer, in the order of the query', async () => {
  const { ledger, rows } = await scene()
  await ledger.open(hold('a'))
  expect(await ledger.stored(['resp_1'])).toEqual([undefined])
  // Not awaited: a query sees each settlement that was queued before it.
  const ended = ledger.end(settle('a', { stored: kept('resp_1', 'msg_1') }))
  const stored = {
    key: 'app',
    tenant: 'acme',
    publication: 'gpt',
    endpoint: 'east',
    tokens: 400,
    expiresAtMs: LATER_MS,
  }
  expect(await ledger.stored(['msg_1', 'none', 'resp_1', 'msg_1'])).toEqual([
    { id: 'msg_1', ...stored, tokens: 300 },
    undefined,
    { id: 'resp_1', ...stored },
    { id: 'msg_1', ...stored, tokens: 300 },
  ])
  expect(await rows()).toEqual(['msg_1', 'resp_1'])
  await ended
})

test('nothing is kept of a release, nor of an end that the ledger rejects; the same end again changes nothing', async () => {
  const { ledger, answered, rows, said } = await scene()
  await ledger.open(hold('a'))
  await ledger.end(release('a'))
  await ledger.end(settle('a', { stored: kept('late') }))
  await ledger.end(settle('never', { stored: kept('never') }))
  await ledger.flush()
  expect(said).toHaveLength(2)
  expect(await rows()).toEqual([])
  await answered('b', { stored: kept('resp_1') })
  await ledger.end(settle('b', { stored: kept('resp_1') }))
  await ledger.flush()
  expect(said).toHaveLength(2)
  expect(await rows()).toEqual(['resp_1'])
})

test.skipIf(ON_POSTGRES)('an id that is unknown may still be in the journal of another gateway', async () => {
  const { ledger, open, clock } = await scene()
  const other = await open()
  for (const gateway of [ledger, other]) await gateway.ask({ query: 'join', isShared: true })
  await ledger.ask({ query: 'instances' })
  const waits = ledger.stored(['resp_1'])
  // The time stands still: this answer waits for nothing.
  expect(await ledger.stored(['resp_1'], false)).toEqual([undefined])
  await other.open(hold('a'))
  await other.end(settle('a', { stored: kept('resp_1') }))
  await other.flush()
  clock.advance(1_000)
  expect(await waits).toMatchObject([{ id: 'resp_1', tenant: 'acme' }])
})

test('a key of the platform has no tenant', async () => {
  const { ledger, answered } = await scene()
  await answered('a', { tenant: undefined, stored: kept('resp_1') })
  expect((await ledger.stored(['resp_1']))[0]).toMatchObject({ key: 'app', tenant: undefined })
})

test('256 ids of 512 bytes each are kept and found', async () => {
  const { ledger, answered } = await scene()
  const ids = Array.from({ length: 256 }, (_, i) => `resp_${i}_`.padEnd(510, 'x').concat('é'))
  expect(Buffer.byteLength(ids[0] ?? '')).toBe(512)
  await answered('a', { stored: kept(...ids) })
  expect((await ledger.stored(ids)).map(stored => stored?.id)).toEqual(ids)
  expect(await ledger.stored([])).toEqual([])
})

test('an id ends with its time, and pruning deletes it, the oldest first, some at a time', async () => {
  const { ledger, answered, clock, ownerOf, rows } = await scene()
  await answered('a', { stored: kept('resp_1', 'resp_2') })
  await answered('b', { stored: { ...kept('resp_3'), expiresAtMs: LATER_MS + 1 } })
  await answered('c', { stored: { ...kept('resp_0'), expiresAtMs: LATER_MS - 1 } })
  clock.advance(LATER_MS - 1 - clock.nowMs())
  expect([await ownerOf('resp_0'), await ownerOf('resp_1')]).toEqual([undefined, 'acme at east'])
  clock.advance(1)
  expect([await ownerOf('resp_1'), await ownerOf('resp_3')]).toEqual([undefined, 'acme at east'])
  expect(await ledger.pruneStored(clock.nowMs(), 1)).toBe(1)
  expect(await rows()).toEqual(['resp_1', 'resp_2', 'resp_3'])
  expect(await ledger.pruneStored(clock.nowMs(), 500)).toBe(2)
  expect(await ledger.pruneStored(clock.nowMs(), 500)).toBe(0)
  expect(await rows()).toEqual(['resp_3'])
})

test.skipIf(ON_POSTGRES)('pruning reads the index of the expiry, never the table', async () => {
  const { path } = await scene()
  const raw = new Database(path, { readonly: true })
  onTestFinished(() => void raw.close())
  const plan = raw
    .prepare(
      'explain query plan select id from stored_responses where expires_at_ms <= 1 order by expires_at_ms limit 2',
    )
    .all() as { readonly detail: string }[]
  expect(plan.map(({ detail }) => detail)).toEqual([
    'SEARCH stored_responses USING COVERING INDEX stored_responses_by_expiry (expires_at_ms<?)',
  ])
})

test('an id that an upstream gives out again belongs to the newest answer of the same tenant', async () => {
  const { ledger, answered } = await scene()
  await answered('a', { stored: kept('resp_1') })
  const next = { ...kept('resp_1'), tokens: 7, expiresAtMs: LATER_MS + 5 }
  await answered('b', { key: 'other', publication: 'mini', stored: next })
  expect(await ledger.stored(['resp_1'])).toMatchObject([
    { key: 'other', publication: 'mini', tokens: 7, expiresAtMs: LATER_MS + 5 },
  ])
})

test.each([
  ['two tenants', { tenant: 'acme' }, { tenant: 'beta' }],
  ['a tenant and the platform', { tenant: 'acme' }, { tenant: undefined }],
  ['two keys of the platform', { tenant: undefined }, { tenant: undefined, key: 'other' }],
])('an id that one endpoint gives to %s is known to neither', async (_, first, second) => {
  const { answered, ownerOf } = await scene()
  await answered('a', { ...first, stored: kept('resp_1') })
  await answered('b', { ...second, stored: kept('resp_1') })
  expect(await ownerOf('resp_1')).toBe(undefined)
})

test('no endpoint can take over the id of another one before it expires', async () => {
  const { answered, clock, ownerOf } = await scene()
  await answered('a', { stored: kept('resp_1') })
  await answered('b', { tenant: 'beta', endpoint: 'west', stored: kept('resp_1') })
  await answered('c', { endpoint: 'west', stored: kept('resp_1') })
  expect(await ownerOf('resp_1')).toBe('acme at east')
  clock.advance(LATER_MS - clock.nowMs())
  const stored = { ...kept('resp_1'), expiresAtMs: LATER_MS + DAY_MS }
  await answered('d', { tenant: 'beta', endpoint: 'west', endedAtMs: LATER_MS, stored })
  expect(await ownerOf('resp_1')).toBe('beta at west')
})

test.skipIf(ON_POSTGRES)('a copy of the store has the ids, and the ledger adds up with them', async () => {
  const { answered, store, folder, path } = await scene()
  await answered('a', { stored: kept('resp_1') })
  await copyStore(path, `${folder}/copy.db`, { signal: new AbortController().signal })
  const raw = new Database(`${folder}/copy.db`, { readonly: true })
  onTestFinished(() => void raw.close())
  expect(raw.prepare('select id from stored_responses').pluck().all()).toEqual(['resp_1'])
  expect(await store.accounting.verify()).toMatchObject({ entries: 1, findings: [] })
})
