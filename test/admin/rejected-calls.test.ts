import { expect, onTestFinished, test } from 'vitest'
import { writeRejected } from '../cli/traffic.ts'
import { rejected } from '../store/ledger/rows.ts'
import { undocumented } from './documented.ts'
import { controlScene, type LoggedIn } from './scene.ts'

test('rejected calls are listed for administrators, and for a tenant those of its keys, without the reason', async () => {
  const scene = await controlScene(onTestFinished)
  await scene.addUser('ada', 'admin')
  const admin = await scene.logIn('ada')
  for (const tenant of ['acme', 'umbrella'])
    await scene.call('create_tenant', { as: admin, body: { name: tenant } })
  await scene.addUser('tom', 'tenant', 'umbrella')
  await writeRejected(scene.storeAt, [
    rejected('req_1', { key: 'app', tenant: 'umbrella', askedModel: 'nope', count: 3 }),
    rejected('req_2', { key: 'bot', tenant: 'acme', status: 503, reason: 'secret-vendor is down' }),
    rejected('req_3', { status: 401, errorCode: 'invalid_api_key' }),
    rejected('req_4', { tenant: 'umbrella', status: 503, reason: 'secret-vendor is down' }),
  ])
  const seen = async (as: LoggedIn, query: Readonly<Record<string, string>> = {}) => {
    const answered = await scene.call('list_rejections', { as, query })
    expect(undocumented('list_rejections', answered)).toEqual([])
    return answered.body.data
  }
  const ids = async (as: LoggedIn, query?: Readonly<Record<string, string>>) =>
    (await seen(as, query)).map(call => call['request_id'])
  expect(await ids(admin)).toEqual(['req_4', 'req_3', 'req_2', 'req_1'])
  expect(await ids(admin, { key: 'app' })).toEqual(['req_1'])
  expect(await ids(admin, { model: 'nope' })).toEqual(['req_1'])
  expect(await ids(admin, { min_status: '500' })).toEqual(['req_4', 'req_2'])
  expect(await ids(admin, { tenant: 'acme' })).toEqual(['req_2'])
  expect(await ids(admin, { request_id: 'req_3' })).toEqual(['req_3'])
  expect(await seen(admin, { key: 'app' })).toMatchObject([
    { asked_model: 'nope', count: 3, dispatched: false },
  ])
  expect(await seen(admin, { key: 'bot' })).toMatchObject([{ reason: 'secret-vendor is down' }])

  const tenant = await scene.logIn('tom')
  expect(await ids(tenant)).toEqual(['req_4', 'req_1'])
  expect(await ids(tenant, { tenant: 'acme' })).toEqual([])
  expect(JSON.stringify(await seen(tenant))).not.toContain('secret-vendor')

  const first = await scene.call('list_rejections', { as: admin, query: { limit: '3' } })
  const cursor = first.body['next_cursor'] as string
  expect(await ids(admin, { limit: '3', cursor })).toEqual(['req_1'])
})
