import { describe, expect, onTestFinished, test } from 'vitest'
import { testClock } from '../support/test-clock.ts'
import { endpoint, put } from './samples.ts'
import { STORES } from './stores.ts'

describe.each(Object.entries(STORES))('the maintenance switch on %s', (_, emptyDatabase) => {
  async function setUp() {
    const database = emptyDatabase(onTestFinished)
    const clock = testClock(1_000)
    return { clock, store: await database.open(clock), other: await database.open(clock) }
  }

  test('is off until it is switched on, and off again afterwards', async () => {
    const { store } = await setUp()
    expect(await store.live()).not.toHaveProperty('maintenance')
    expect(await store.switchMaintenanceOn({ author: 'ada' })).toBe(true)
    expect((await store.live()).maintenance).toEqual({ author: 'ada', sinceMs: 1_000 })
    expect((await store.readState()).maintenance).toEqual({ author: 'ada', sinceMs: 1_000 })
    expect(await store.switchMaintenanceOff()).toBe(true)
    expect(await store.readState()).not.toHaveProperty('maintenance')
    expect(await store.switchMaintenanceOff()).toBe(false)
  })

  test('takes another message while it is on, and keeps its beginning', async () => {
    const { store, clock } = await setUp()
    await store.switchMaintenanceOn({ message: 'Back at ten.' })
    clock.advance(500)
    expect(await store.switchMaintenanceOn({ message: 'Back at ten.' })).toBe(false)
    expect(await store.switchMaintenanceOn({ message: 'Back at noon.', author: 'ben' })).toBe(true)
    expect((await store.live()).maintenance).toEqual({
      message: 'Back at noon.',
      author: 'ben',
      sinceMs: 1_000,
    })
  })

  test('is seen by the poll of another process, makes no revision, and outlives one', async () => {
    const { store, other } = await setUp()
    await store.readState()
    await other.switchMaintenanceOn({})
    await expect.poll(() => store.changed()).toBe(true)
    expect(await store.readState()).toMatchObject({ revision: 0, keyVersion: 1 })
    await put(other, endpoint('a'))
    expect(await store.readState()).toMatchObject({ revision: 1, maintenance: { sinceMs: 1_000 } })
    expect(await store.readStateAt(0)).toHaveProperty('maintenance')
  })
})

describe.each(Object.entries(STORES))('a large revision on %s', (_, emptyDatabase) => {
  test('is read in pages, each resource once and in order', async () => {
    const store = await emptyDatabase(onTestFinished).open(testClock())
    const names = Array.from({ length: 601 }, (_, index) => `e${index}`)
    await put(store, ...names.map(name => endpoint(name)))
    const { resources } = await store.readState()
    expect(resources.map(({ name }) => name)).toEqual(names.toSorted())
  })
})
