import { expect, onTestFinished, test } from 'vitest'
import { controlScene } from './scene.ts'

test('a tenant whose users may log in is not deleted, and is once they are disabled', async () => {
  const { addUser, call, logIn, store } = await controlScene(onTestFinished)
  await addUser('ada', 'admin')
  const as = await logIn('ada')
  const params = { name: 'blue' }
  await call('create_tenant', { as, body: params })
  await addUser('tom', 'tenant', 'blue')
  const rejected = await call('delete_tenant', { as, params })
  expect([rejected.status, rejected.body.code]).toEqual([409, 'in_use'])
  expect(rejected.body.detail).toContain('tom may log in for it')
  expect((await call('get_tenant', { as, params })).status).toBe(200)

  const tom = await logIn('tom')
  const headers = { 'if-match': '*' }
  await call('update_user', { as, params: { name: 'tom' }, body: { enabled: false }, headers })
  expect((await call('delete_tenant', { as, params })).status).toBe(200)
  expect((await call('create_tenant', { as, body: params })).status).toBe(201)
  expect((await call('get_session', { as: tom })).status).toBe(401)
  expect(await store.users.user('tom')).toMatchObject({ enabled: false })
})
