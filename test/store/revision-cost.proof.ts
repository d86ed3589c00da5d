import { statSync } from 'node:fs'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { changeManually, createManually, deleteManually } from '../../src/services/changes/manual-changes.ts'
import { wouldServe } from '../../src/services/serve-check.ts'
import { openStore } from '../../src/store/open.ts'
import { statementsOf } from '../support/statements.ts'
import { tempDir } from '../support/temp-dir.ts'
import { testClock } from '../support/test-clock.ts'
import { canonical, endpoint, key, put } from './samples.ts'

const HAND = { origin: 'rest', author: 'admin', check: wouldServe(new AbortController().signal) } as const

/** A store with a tenant, an endpoint and keys of a file. */
async function setUp(keys: number) {
  const folder = tempDir(onTestFinished)
  const store = await openStore('sqlite:gw.db', { mode: 'create', clock: testClock(), folder: folder.path })
  onTestFinished(() => store.close())
  await put(
    store,
    endpoint('east'),
    { kind: 'tenant', name: 'acme', spec: canonical('tenant', {}), owner: 'rest' },
    ...Array.from({ length: keys }, (_, at) => key(`old-${at}`)),
  )
  const raw = new Database(folder.at('gw.db'))
  onTestFinished(() => void raw.close())
  return {
    store,
    raw,
    bytes: () => {
      raw.pragma('wal_checkpoint(truncate)')
      return statSync(folder.at('gw.db')).size
    },
  }
}

function made(number: number) {
  const spec = canonical('key', {
    kind: 'tenant',
    tenant: 'acme',
    limits: { rpm: 60 },
    quota: 1_000 + number,
  })
  return { kind: 'key', name: `key-${number}`, spec } as const
}

/** What SQLite does for each statement of `work`: the steps of its plan. */
async function plansOf(raw: Database.Database, work: () => Promise<unknown>): Promise<string[]> {
  const statements = await statementsOf(work)
  return statements.flatMap(text => {
    if (!/^\s*(select|insert|update|delete|with)/i.test(text)) return []
    const steps = raw.prepare(`explain query plan ${text}`)
    const values = Array.from({ length: text.split('?').length - 1 }, () => 0)
    return (steps.all(...values) as { detail: string }[]).map(({ detail }) => `${detail} · ${text}`)
  })
}

test('a key that is made, changed or deleted by hand reads no table through, however large the store is', async () => {
  const { store, raw } = await setUp(3)
  const plans = await plansOf(raw, async () => {
    await createManually(store, made(1), HAND)
    await changeManually(store, { kind: 'key', name: 'key-1' }, ({ spec }) => ({ ...spec, quota: 7 }), HAND)
    await deleteManually(store, { kind: 'key', name: 'key-1' }, HAND)
  })
  expect(plans).toContainEqual(expect.stringMatching(/^SEARCH resources USING INDEX/))
  const scans = plans
    .filter(step => /^SCAN (resources|revisions|revision_changes|key_)|B-TREE/.test(step))
    // Planned for a foreign key, and left out where none is broken: https://sqlite.org/src/file/src/fkey.c.
    .filter(step => !step.includes('insert into "revisions"'))
  expect(scans).toEqual([])
})

test('a thousand keys that are made one by one grow the database by less than 1 KB each beside the key', async () => {
  const { store, bytes } = await setUp(0)
  const before = bytes()
  for (let number = 0; number < 1_000; number++) await createManually(store, made(number), HAND)
  const grownBytes = (bytes() - before) / 1_000
  expect(grownBytes - JSON.stringify(made(0)).length).toBeLessThan(1_024)
  expect(await store.resourcesAt(501)).toHaveLength(502)
}, 120_000)

test('an apply of many writes what it changes, however many lines have moved', async () => {
  const { store, raw } = await setUp(500)
  const moved = { owner: 'config', set: 'default', place: { file: 'gw.yaml', line: 1_000 } } as const
  const keys = Array.from({ length: 500 }, (_, at) => key(`old-${at}`, at === 7 ? { quota: 1 } : {}, moved))
  await put(store, ...keys)
  const rows = raw.prepare('select name from revision_changes where revision = 2').pluck().all()
  expect(rows).toEqual(['old-7'])
})

test('what stood at a revision is read in one pass over an index, in its order', async () => {
  const { store, raw } = await setUp(3)
  await put(store, key('old-1', { quota: 1 }))
  const plans = await plansOf(raw, () => store.resourcesAt(1))
  expect(plans).toContainEqual(expect.stringMatching(/^SEARCH revision_changes USING PRIMARY KEY/))
  expect(plans.filter(step => /^SCAN (?!head)|B-TREE/.test(step))).toEqual([])
})
