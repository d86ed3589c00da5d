import { expect, onTestFinished, test } from 'vitest'
import { write } from '../cli/traffic.ts'
import { call as callRow, hold, settle } from '../store/ledger/rows.ts'
import { canonical, MINE, put } from '../store/samples.ts'
import { controlScene } from './scene.ts'

const NAME = 'secret-vendor'

async function setUp(settings: object) {
  const scene = await controlScene(onTestFinished)
  await put(scene.store, {
    kind: 'settings',
    name: 'settings',
    spec: canonical('settings', settings),
    ...MINE,
  })
  await scene.addUser('ada', 'admin')
  await scene.addUser('tom', 'tenant', 'acme')
  await write(scene.storeAt, [
    ['hold', hold('req_1', { endpoint: NAME })],
    ['end', settle('req_1', { endpoint: NAME })],
    ['log', callRow('req_1', { endpoint: NAME })],
  ])
  const span = { since: '2026-01-01T00:00:00Z', until: '2026-02-01T00:00:00Z' }
  const read = async (user: string) => {
    const as = await scene.logIn(user)
    const rows = async (id: 'list_calls' | 'get_usage', query: Readonly<Record<string, string>> = {}) => {
      const { status, body } = await scene.call(id, { as, query: { ...span, ...query } })
      expect(status).toBe(200)
      return body.data
    }
    const logged = [{}, { endpoint: NAME }, { endpoint: 'none' }]
    const sums = [
      { by: 'endpoint' },
      { by: 'key', split: 'endpoint' },
      { by: 'key', endpoint: NAME },
      { by: 'key', endpoint: 'none' },
    ]
    return {
      calls: await Promise.all(logged.map(query => rows('list_calls', query))),
      usage: await Promise.all(sums.map(query => rows('get_usage', query))),
      total: await rows('get_usage', { by: 'key' }),
    }
  }
  return { read }
}

test('with show_endpoints: false a tenant sees no name of an endpoint in calls and usage, and finds none by it', async () => {
  const { read } = await setUp({ show_endpoints: false })
  const own = await read('tom')
  expect(JSON.stringify(own)).not.toContain(NAME)
  expect(own.calls.map(rows => rows.length)).toEqual([1, 0, 0])
  expect(own.usage).toEqual([[], [], [], []])
  expect(own.total).toMatchObject([{ label: 'app', requests: 1 }])
  const all = await read('ada')
  expect(all.calls.map(rows => rows.length)).toEqual([1, 1, 0])
  expect(all.calls[0]).toMatchObject([{ endpoint: NAME }])
  expect(all.usage).toMatchObject([[{ label: NAME }], [{ split: NAME }], [{ label: 'app' }], []])
})

test('without the setting a tenant sees and finds them', async () => {
  const { read } = await setUp({})
  const own = await read('tom')
  expect(own.calls.map(rows => rows.length)).toEqual([1, 1, 0])
  expect(own.calls[0]).toMatchObject([{ endpoint: NAME }])
  expect(own.usage).toMatchObject([[{ label: NAME }], [{ split: NAME }], [{ label: 'app' }], []])
})
