import { expect, onTestFinished, test } from 'vitest'
import { createLog } from '../../src/base/log.ts'
import { RevisionRetention } from '../../src/server/revision-retention.ts'
import type { Snapshot } from '../../src/snapshot/types.ts'
import { key, put } from '../store/samples.ts'
import { emptyDatabase } from '../store/stores.ts'
import { testClock } from '../support/test-clock.ts'

const DAY_MS = 86_400_000

async function setUp(revisions: number) {
  const clock = testClock()
  const database = emptyDatabase(onTestFinished)
  const store = await database.open(clock)
  for (let revision = 1; revision <= revisions; revision++) await put(store, key(`k${revision}`))
  const lines: string[] = []
  const log = createLog(
    { write: line => void lines.push(line) },
    { level: 'info', pretty: false, colour: false },
  )
  const snapshot = { revisions: { retentionMs: 10 * DAY_MS, keep: 3 } } as Snapshot
  const batches: number[] = []
  const retention = new RevisionRetention({
    store: {
      async pruneStates(...words) {
        batches.push(await store.pruneStates(...words))
        return batches.at(-1) ?? 0
      },
    },
    holder: { current: () => snapshot },
    clock,
    log,
  })
  onTestFinished(() => retention.stop())
  /** Resolves when the look that was due has ended, and the next one waits. */
  const look = async () => {
    await clock.waiting()
    clock.advance(60_000)
    await clock.waiting()
  }
  return { clock, store, database, retention, lines, batches, look }
}

test('a gateway forgets what stood at old revisions, in small batches, as its settings say', async () => {
  const { clock, store, retention, batches, look } = await setUp(250)
  retention.start()
  await look()
  expect(batches).toEqual([0])
  clock.advance(11 * DAY_MS)
  await clock.waiting()
  batches.length = 0
  await look()
  // 247 rows are needed for what is older than three revisions back.
  expect(batches).toEqual([200, 47])
  expect(await store.resourcesAt(247)).toHaveLength(247)
  await expect(store.resourcesAt(246)).rejects.toMatchObject({ code: 'not_found' })
  expect(await store.revisions({ limit: 500 })).toHaveLength(250)
})

test('a store that cannot be pruned is reported, and tried again a minute later', async () => {
  const { clock, store, database, retention, lines, look } = await setUp(5)
  const repair = await database.rejectUpdates('head', 'disk full')
  retention.start()
  clock.advance(11 * DAY_MS)
  await clock.waiting()
  await look()
  expect(lines.join('')).toContain('old states of the configuration cannot be deleted')
  await repair()
  await look()
  await expect(store.resourcesAt(1)).rejects.toMatchObject({ code: 'not_found' })
})
