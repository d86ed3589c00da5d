import { expect, onTestFinished, test } from 'vitest'
import { write } from '../cli/traffic.ts'
import { call as callRow } from '../store/ledger/rows.ts'
import { undocumented } from './documented.ts'
import { controlScene } from './scene.ts'

test('a failed call has its cause and its attempts for administrators, and for its tenant neither', async () => {
  const scene = await controlScene(onTestFinished)
  await scene.addUser('ada', 'admin')
  const admin = await scene.logIn('ada')
  await scene.call('create_tenant', { as: admin, body: { name: 'umbrella' } })
  await scene.addUser('tom', 'tenant', 'umbrella')
  const tenant = await scene.logIn('tom')
  const causes = {
    reason: 'secret-vendor answered 500',
    failedAttempts: ['secret-vendor: upstream_error (answered 500)'],
  }
  await write(scene.storeAt, [
    ['log', callRow('req_1', { tenant: 'umbrella', status: 502, errorCode: 'upstream_error', ...causes })],
  ])
  const seen = async (as: typeof admin) => {
    const answered = await scene.call('list_calls', { as })
    expect(undocumented('list_calls', answered)).toEqual([])
    return answered.body['data']
  }
  expect(await seen(admin)).toMatchObject([
    { reason: causes.reason, failed_attempts: causes.failedAttempts, error_code: 'upstream_error' },
  ])
  const [own] = (await seen(tenant)) as object[]
  expect(own).toMatchObject({ request_id: 'req_1', error_code: 'upstream_error' })
  expect(JSON.stringify(own)).not.toContain('secret-vendor')
})
