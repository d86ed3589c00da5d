import { expect, onTestFinished, test } from 'vitest'
import type { OperationId } from '../../src/schema/api/operations.ts'
import { controlScene, type Sent } from './scene.ts'

test('what changes nothing leaves no line in the audit, and what changes something leaves one', async () => {
  const { addUser, call, logIn, store } = await controlScene(onTestFinished)
  await addUser('ada', 'admin')
  await addUser('bob', 'admin')
  const as = await logIn('ada')
  await call('create_key', { as, body: { name: 'k', kind: 'platform' } })
  await call('issue_key', { as, params: { name: 'k' } })
  const headers = { 'if-match': '*' }
  const twice: readonly (readonly [OperationId, Sent])[] = [
    ['update_key', { params: { name: 'k' }, body: { quota: 5 }, headers }],
    ['disable_key', { params: { name: 'k' } }],
    ['enable_key', { params: { name: 'k' } }],
    ['revoke_key', { params: { name: 'k' } }],
    ['update_user', { params: { name: 'bob' }, body: { enabled: false }, headers }],
    ['credit_wallet', { params: { name: 'acme' }, body: { amount: 1, reference: 'r' } }],
    ['set_maintenance', { body: { enabled: true } }],
    ['set_maintenance', { body: { enabled: false } }],
  ]
  for (const [id, sent] of twice) {
    for (const lines of [1, 0]) {
      const [before] = await store.users.audit({ limit: 1 })
      expect((await call(id, { as, ...sent })).status, id).toBe(200)
      const after = (await store.users.audit()).filter(line => line.id > (before?.id ?? 0))
      expect(after.map(({ action }) => action)).toEqual(lines === 1 ? [id] : [])
    }
  }
})
