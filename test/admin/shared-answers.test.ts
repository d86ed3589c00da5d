import { expect, onTestFinished, test, vi } from 'vitest'
import { API_PREFIX } from '../../src/schema/api/operations.ts'
import { write } from '../cli/traffic.ts'
import { call as callRow } from '../store/ledger/rows.ts'
import { type AnswerBody, controlScene, type LoggedIn } from './scene.ts'

/** An administrator, a user of each of two tenants, and a failed call of each tenant. */
async function setUp() {
  const scene = await controlScene(onTestFinished)
  await scene.addUser('ada', 'admin')
  const admin = await scene.logIn('ada')
  await scene.addUser('tom', 'tenant', 'acme')
  await scene.addUser('rita', 'tenant', 'other')
  const log = (id: string, tenant: string) => {
    const failed = { tenant, status: 502, node: 'gpu-7', reason: 'the east answered 500' }
    return write(scene.storeAt, [['log', callRow(id, failed)]])
  }
  await log('req_1', 'acme')
  await log('req_2', 'other')
  const list = async (as: LoggedIn, query: Readonly<Record<string, string>> = {}) => {
    const { status, body } = await scene.call('list_calls', { as, query })
    expect(status).toBe(200)
    return body.data
  }
  const users = { admin, tom: await scene.logIn('tom'), rita: await scene.logIn('rita') }
  return { scene, log, list, ...users }
}

const ids = (calls: readonly AnswerBody[]) => calls.map(({ request_id: id }) => id)

test('users who ask the same question at the same moment share an answer with users of the same rights alone', async () => {
  const { list, admin, tom, rita } = await setUp()
  const asked = [tom, admin, rita, tom, rita, admin, tom]
  const [first, second, third, ...others] = await Promise.all(asked.map(each => list(each)))
  expect([first, second, third].map(calls => ids(calls ?? []))).toEqual([
    ['req_1'],
    ['req_2', 'req_1'],
    ['req_2'],
  ])
  expect(others).toEqual([first, third, second, first])
  // What only an operator may see.
  expect(JSON.stringify(second)).toMatch(/gpu-7.*the east answered 500/)
  for (const own of [first, third]) expect(JSON.stringify(own)).not.toMatch(/gpu-7|the east/)
  // A tenant that names another one gets nothing of it, also if that one has just asked.
  const [own, foreign] = await Promise.all([
    list(rita, { tenant: 'other' }),
    list(tom, { tenant: 'other' }),
    list(admin, { tenant: 'other' }),
  ])
  expect([ids(own), ids(foreign)]).toEqual([['req_2'], []])
})

test('a session that has ended gets no shared answer', async () => {
  const { scene, list, tom } = await setUp()
  await list(tom)
  await scene.call('log_out', { as: tom })
  expect((await scene.call('list_calls', { as: tom })).status).toBe(401)
})

test('a list is read from the store once for all who ask at a moment, and again for another question', async () => {
  const { scene, list, admin } = await setUp()
  const find = vi.spyOn(
    Object.getPrototypeOf(scene.store.accounting) as typeof scene.store.accounting,
    'callLogs',
  )
  onTestFinished(() => find.mockRestore())
  const reads = () => find.mock.calls.filter(([query]) => query?.limit === 101).length
  await Promise.all(Array.from({ length: 20 }, () => list(admin, { limit: '100' })))
  expect(reads()).toBe(1)
  await list(admin, { limit: '100', min_status: '500' })
  expect(reads()).toBe(2)
})

test('who reads after an event of new calls gets them', async () => {
  const { scene, log, list, admin } = await setUp()
  const leaving = new AbortController()
  onTestFinished(() => leaving.abort())
  const { body } = await fetch(`${scene.url}${API_PREFIX}/events`, {
    headers: admin.headers,
    signal: leaving.signal,
  })
  const decoder = new TextDecoder()
  const seen = { text: '' }
  const read = async () => {
    for await (const bytes of body ?? []) seen.text += decoder.decode(bytes as Uint8Array)
  }
  read().catch(() => undefined)
  await expect.poll(() => seen.text).toContain('event: status')
  // Read just before the call, so that a look at the store without it is at hand.
  expect(ids(await list(admin))).toEqual(['req_2', 'req_1'])
  await log('req_3', 'acme')
  await expect
    .poll(() => {
      scene.clock.advance(500)
      return seen.text
    })
    .toContain('event: calls')
  expect(ids(await list(admin))).toEqual(['req_3', 'req_2', 'req_1'])
})
