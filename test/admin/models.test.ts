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
  expect(page.body.data).toEqual([{ name: 'chat', owned_by: 'gw', price: { input: '1' }, paths: [] }])
  expect(page.body.next_cursor).not.toBe(null)

  await call('disable_key', { as, params: { name: 'b' } })
  const banned = { banned_models: ['*-large'] }
  await call('update_tenant', { as, params: { name: 'blue' }, body: banned, headers: { 'if-match': '*' } })
  expect(await names('tom')).toEqual(['chat'])
})

test('a model has the paths at which its enabled endpoints serve it', async () => {
  const { addUser, call, logIn } = await controlScene(onTestFinished)
  await addUser('ada', 'admin')
  const as = await logIn('ada')
  const endpoint = (name: string, protocol: string, more: object = {}) =>
    call('create_endpoint', {
      as,
      body: {
        name,
        protocol,
        base_url: 'http://127.0.0.1:9/v1',
        served_model: 'm',
        skip_probe: true,
        ...more,
      },
    })
  await endpoint('embedder', 'openai', { paths: ['/v1/embeddings'] })
  await endpoint('claude', 'anthropic')
  await endpoint('resting', 'openai', { enabled: false })
  await call('create_publication', {
    as,
    body: { name: 'm', max_input_tokens: 8_000, max_output_tokens: 100 },
  })
  for (const name of ['embedder', 'claude', 'resting'])
    await call('create_binding', { as, body: { publication: 'm', endpoint: name } })
  await call('create_key', { as, body: { name: 'k', kind: 'platform' } })
  const { body } = await call('list_models', { as })
  expect(body.data).toMatchObject([{ name: 'm', max_input_tokens: 8_000, max_output_tokens: 100 }])
  expect(body.data[0]?.['paths']).toEqual(['/v1/embeddings', '/v1/messages', '/v1/messages/count_tokens'])
})
