import { readFileSync, statSync } from 'node:fs'
import Database from 'better-sqlite3'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { systemRandom } from '../../src/base/random.ts'
import { planToJson } from '../../src/services/changes/plan-json.ts'
import type { AppPorts } from '../../src/services/context.ts'
import {
  exportRevision,
  listRevisions,
  planRollbackTo,
  rollBackTo,
  showRevision,
} from '../../src/services/history.ts'
import { openServingStore, openStore } from '../../src/store/open.ts'
import { tempDir } from '../support/temp-dir.ts'
import { testClock } from '../support/test-clock.ts'
import type { WhenOver } from '../support/when-over.ts'
import { plain as plainState } from './plain.ts'

/**
 * A store that was written by the gw that kept all of a state with each revision, and what that gw said of it: eleven
 * revisions by files, by hand and over REST, with lines that moved, renames, deletions and a rollback.
 */
const FIXTURE = new URL('fixtures/', import.meta.url)
const SQL = readFileSync(new URL('older.sql', FIXTURE), 'utf8')
const EXPECTED = JSON.parse(readFileSync(new URL('older.json.txt', FIXTURE), 'utf8'))
const REVISIONS = Array.from({ length: EXPECTED.history.length }, (_, at) => at + 1)
const STORE = 'sqlite:gw.db'

async function olderStore(whenOver: WhenOver) {
  const folder = tempDir(whenOver)
  const raw = new Database(folder.at('gw.db'))
  raw.exec(SQL)
  raw.close()
  const ports: AppPorts = {
    environment: { USER: 'ada' },
    cwd: folder.path,
    clock: testClock(),
    random: systemRandom,
    readStdin: () => Promise.reject(new Error('nobody types')),
    signal: new AbortController().signal,
  }
  const open = { mode: 'write', clock: ports.clock, folder: folder.path } as const
  await (await openStore(STORE, open)).close()
  return { folder, ports, open }
}

describe('a store of a gw that kept whole states says after its migration what it said before:', () => {
  let ports: AppPorts
  let open: Parameters<typeof openStore>[1]
  beforeAll(async () => {
    const ends: (() => unknown)[] = []
    ;({ ports, open } = await olderStore(end => void ends.push(end)))
    return async () => {
      for (const end of ends) await end()
    }
  })

  test('its history', async () => {
    expect(await listRevisions(100, STORE, ports)).toEqual(EXPECTED.history)
  })

  test.each(REVISIONS)('what revision %i changed, with its lines, and the files of then', async id => {
    const { resources: _, ...shown } = await showRevision(id, STORE, ports)
    expect(plain(shown)).toEqual(EXPECTED.shown[id])
    expect((await exportRevision(id, 'default', STORE, ports)).yaml).toBe(EXPECTED.yaml[id])
  })

  test.each(REVISIONS)('what it would take to go back to revision %i, and what that means', async id => {
    const { plan, radius } = await planRollbackTo(id, STORE, ports)
    // What a plan warns of is for each gw to say.
    const told = (json: object) => withoutLines({ ...json, warnings: [] })
    expect(told(planToJson(plan, radius))).toEqual(told(EXPECTED.rollbacks[id]))
  })

  test('what stands, and what a gateway serves of now and of each revision', async () => {
    const store = await openServingStore(STORE, open)
    const served = async (id: string) => {
      const state = id === 'now' ? await store.readState() : await store.readStateAt(Number(id))
      return plain({ ...plainState(state), kept: state.kept?.map(one => one.id) })
    }
    for (const id of Object.keys(EXPECTED.served)) expect(await served(id)).toEqual(EXPECTED.served[id])
    await store.close()
  })

  test('all that stood at each revision; of what did not change the line of today', async () => {
    const store = await openStore(STORE, open)
    for (const id of [0, ...REVISIONS]) {
      expect(withoutLines(plain(await store.resourcesAt(id)))).toEqual(withoutLines(EXPECTED.states[id]))
    }
    const { resources, secrets, holds } = await store.live()
    expect(plain({ resources, secrets, holds })).toEqual(EXPECTED.live)
    await store.close()
  })
})

test('a store of a gw that kept whole states goes back to any of its revisions after its migration', async () => {
  for (const id of REVISIONS) {
    const { ports, open } = await olderStore(onTestFinished)
    const back = rollBackTo(id, STORE, ports, async () => {})
    if (id === 8 || id === 9) {
      // Its endpoint has gone since, and the credential that was kept for it.
      await expect(back).rejects.toMatchObject({ code: 'not_servable' })
      continue
    }
    await back
    const store = await openStore(STORE, open)
    const essence = (resources: readonly unknown[]) =>
      (resources as { kind: string; name: string; spec: unknown; owner: string; account?: string }[]).map(
        ({ kind, name, spec, owner, account }) => ({ kind, name, spec, owner, account }),
      )
    expect(essence((await store.live()).resources)).toEqual(essence(EXPECTED.states[id]))
    expect(essence(await store.resourcesAt(11))).toEqual(essence(EXPECTED.states[11]))
    await store.close()
  }
})

test('the file of a store is smaller after its migration, by what the states had taken', async () => {
  const folder = tempDir(onTestFinished)
  const raw = new Database(folder.at('gw.db'))
  raw.exec(SQL)
  // A thousand revisions more, each with a state of its own.
  raw.exec(`
    with recursive n (i) as (select 12 union all select i + 1 from n where i < 1011)
    insert into revisions (id, base, origin, created_at_ms, counts, document)
    select i, i - 1, 'rest', 0, '{}', (select document from revisions where id = 11) from n;
    update head set revision = 1011`)
  raw.close()
  const before = statSync(folder.at('gw.db')).size
  const store = await openStore(STORE, { mode: 'write', clock: testClock(), folder: folder.path })
  expect(await store.resourcesAt(1_011)).toHaveLength(EXPECTED.states[11].length)
  expect(await store.resourcesAt(4)).toHaveLength(EXPECTED.states[4].length)
  await store.close()
  expect(statSync(folder.at('gw.db')).size).toBeLessThan(before / 5)
})

/** As it would cross a wire: undefined members are none. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}

/** Lines, which move without a change, told by nobody. */
function withoutLines(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (name, member) => (name === 'place' || name === 'line' ? undefined : member)),
  )
}
