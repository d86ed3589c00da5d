import { describe, expect, onTestFinished, test } from 'vitest'
import { testClock } from '../support/test-clock.ts'
import { STORES } from './stores.ts'

const REPORT = { id: 'a', pid: 7, host: 'here', startedAtMs: 500, revision: 3, keyVersion: 1 }

describe.each(Object.entries(STORES))('the gateways of a store on %s', (_, emptyDatabase) => {
  async function setUp() {
    const database = emptyDatabase(onTestFinished)
    const clock = testClock(1_000)
    return { clock, store: await database.open(clock), other: await database.open(clock) }
  }

  test('are what each last reported of itself, and when', async () => {
    const { store, other, clock } = await setUp()
    const follows = { paths: ['/etc/gw'], watch: true }
    await store.reportGateway({ ...REPORT, version: '1.0.0', url: 'http://here', follows })
    await store.reportGateway({ ...REPORT, id: 'b', startedAtMs: 100 })
    clock.advance(200)
    const rejected = { revision: 4, reason: 'no secret' }
    await store.reportGateway({ ...REPORT, rejected })
    expect(await other.gateways()).toEqual([
      { ...REPORT, id: 'b', startedAtMs: 100, seenAtMs: 1_000, endpoints: [] },
      { ...REPORT, version: '1.0.0', rejected, follows, seenAtMs: 1_200, endpoints: [] },
    ])
    await store.reportGateway(REPORT)
    expect((await other.gateways())[1]).not.toHaveProperty('rejected')
  })

  test('are forgotten when they end, and an hour after they were last heard of', async () => {
    const { store, clock } = await setUp()
    await store.reportGateway(REPORT)
    await store.reportGateway({ ...REPORT, id: 'b' })
    await store.forgetGateway('a')
    expect((await store.gateways()).map(({ id }) => id)).toEqual(['b'])
    clock.advance(3_600_001)
    await store.reportGateway({ ...REPORT, id: 'c' })
    expect((await store.gateways()).map(({ id }) => id)).toEqual(['c'])
  })

  test('have each seen their endpoints in their own way; what they saw goes with them', async () => {
    const { store, other, clock } = await setUp()
    const seen = (endpoint: string, state: 'healthy' | 'unhealthy') => ({ endpoint, state, sinceMs: 900 })
    const both = [seen('x', 'healthy'), { ...seen('y', 'unhealthy'), reason: 'y answered 500' }]
    await store.reportGateway(REPORT, { seen: both, forgotten: [] })
    await store.reportGateway({ ...REPORT, id: 'b' }, { seen: [seen('x', 'unhealthy')], forgotten: [] })
    const endpoints = async () =>
      (await other.gateways()).map(({ id, endpoints: known }) => [id, known] as const)
    expect(await endpoints()).toEqual([
      ['a', both],
      ['b', [seen('x', 'unhealthy')]],
    ])
    await store.reportGateway(REPORT)
    await store.reportGateway(REPORT, { seen: [seen('x', 'unhealthy')], forgotten: ['y'] })
    expect((await endpoints())[0]).toEqual(['a', [seen('x', 'unhealthy')]])
    await store.forgetGateway('b')
    await store.reportGateway({ ...REPORT, id: 'b' })
    expect((await endpoints())[1]).toEqual(['b', []])
    clock.advance(3_600_001)
    await store.reportGateway({ ...REPORT, id: 'c' })
    await store.reportGateway(REPORT)
    expect(await endpoints()).toEqual([
      ['a', []],
      ['c', []],
    ])
  })

  test('move nothing that a gateway would reload for', async () => {
    const { store, other } = await setUp()
    await store.readState()
    await other.reportGateway(REPORT)
    expect(store.changed()).toBe(false)
  })
})
