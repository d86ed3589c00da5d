import { expect, onTestFinished, test } from 'vitest'
import { controlScene } from './scene.ts'

test('a user of a tenant sees the models that a working key of the tenant may call, with their prices', async () => {
  const { addUser, call, logIn } = await controlScene(onTestFinished)
  await addUser('ada', 'admin')
  const as = await logIn('ada')
  await call('create_tenant', { as, body: { name: 'blue' } })
  await addUser('tom', 'tenant', 'blue')
  for (const name of ['chat', 'chat-large', 'embed', 'other'])
    await call('create_publication', { as, body: { name, price: { input: '1' } } })
  await call('create_publication', { as, body: { name: 'chat-hidden', status: 'unlisted' } })
  await call('create_key', { as, body: { name: 'a', kind: 'tenant', tenant: 'blue', models: ['chat*'] } })
  await call('create_key', { as, body: { name: 'b', kind: 'tenant', tenant: 'blue', models: ['embed'] } })
  await call('create_key', { as, body: { name: 'c', kind: 'tenant', tenant: 'other' } })
  const names = async (user: string, query: Readonly<Record<string, string>> = {}) => {
    const { body } = await call('list_models', { as: await logIn(user), query })
    return body.data.map(({ name }) => name)
  }
  expect(await names('tom')).toEqual(['chat', 'chat-large', 'embed'])
  expect(await names('tom', { tenant: 'other' })).toEqual([])
  expect(await names('ada', { tenant: 'other' })).toEqual(['chat', 'chat-large', 'embed', 'other'])
  const page = await call('list_models', { as, query: { tenant: 'blue', limit: '1' } })
  expect(page.body.data).toEqual([{ name: 'chat', owned_by: 'gw', price: { input: '1' } }])
  expect(page.body.next_cursor).not.toBe(null)

  await call('disable_key', { as, params: { name: 'b' } })
  const banned = { banned_models: ['*-large'] }
  await call('update_tenant', { as, params: { name: 'blue' }, body: banned, headers: { 'if-match': '*' } })
  expect(await names('tom')).toEqual(['chat'])
})
