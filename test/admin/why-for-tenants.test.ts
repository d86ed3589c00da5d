import { expect, onTestFinished, test } from 'vitest'
import type { Explanation } from '../../src/services/why/to-json.ts'
import { controlScene } from './scene.ts'

/** A tenant whose key may call `chat` alone, beside models that it does not see. */
async function setUp() {
  const scene = await controlScene(onTestFinished)
  const { addUser, call, logIn } = scene
  await addUser('ada', 'admin')
  const as = await logIn('ada')
  await call('create_tenant', { as, body: { name: 'blue', models: ['chat', 'secret-*'] } })
  await call('create_tenant', { as, body: { name: 'red' } })
  await addUser('tom', 'tenant', 'blue')
  for (const at of ['east', 'west'])
    await call('create_endpoint', {
      as,
      body: {
        name: `upstream-${at}`,
        protocol: 'openai',
        base_url: 'http://127.0.0.1:9/v1',
        served_model: 'm',
      },
    })
  for (const [name, status] of [
    ['chat', 'listed'],
    ['secret-listed', 'listed'],
    ['secret-unlisted', 'unlisted'],
    ['secret-banned', 'banned'],
  ] as const) {
    await call('create_publication', { as, body: { name, status, price: { input: '1', output: '4' } } })
    await call('create_binding', { as, body: { publication: name, endpoint: 'upstream-east' } })
  }
  await call('create_key', {
    as,
    body: { name: 'app', kind: 'tenant', tenant: 'blue', models: ['chat'], limits: { rpm: 7 } },
  })
  await call('create_key', { as, body: { name: 'other', kind: 'tenant', tenant: 'red' } })
  await call('issue_key', { as, params: { name: 'app' } })
  const tom = await logIn('tom')
  const ask = async (query: Readonly<Record<string, string>>) => {
    const { status, body } = await call('explain', { as: tom, query })
    return { status, body: body as unknown as Explanation & { readonly detail: string } }
  }
  return { ...scene, as, ask }
}

test('a tenant sees the answer that a call of its key would get, and its limits, but nothing of endpoints', async () => {
  const { ask } = await setUp()
  const { body } = await ask({ key: 'app', model: 'chat' })
  expect(body).toMatchObject({
    unknown: [],
    decision: { served: true, key: 'app', tenant: 'blue', visible: true, candidates: [] },
  })
  expect(body).not.toHaveProperty('revision')
  expect(body.decision?.checks.map(({ check }) => check)).toEqual(['key_rpm'])
  expect(body.decision?.checks[0]).toMatchObject({ usage: { limit: 7, needed: 1 } })
  expect(body.decision?.estimate).toBeDefined()
  expect(JSON.stringify(body)).not.toContain('upstream')
})

test('of a model that a key does not see it gets the answer that the call would get, and no more', async () => {
  const { ask } = await setUp()
  const answers = []
  for (const model of ['secret-listed', 'secret-unlisted', 'secret-none']) {
    const { body } = await ask({ key: 'app', model })
    const { rejection, ...rest } = body.decision ?? {}
    expect(Object.keys(rejection ?? {}).sort(), model).toEqual(['code', 'message', 'status'])
    answers.push({ ...rest, model: 'MODEL' })
  }
  const [first] = answers
  expect(first).toMatchObject({ served: false, visible: false, checks: [], candidates: [] })
  expect(first).not.toHaveProperty('estimate')
  for (const each of answers) expect(each).toEqual(first)
  // Unlisted, and not there: the call has one answer for both.
  const message = async (model: string) =>
    (await ask({ key: 'app', model })).body.decision?.rejection?.message.replace(model, 'MODEL')
  expect(await message('secret-unlisted')).toBe(await message('secret-none'))
})

test('a key alone shows the models that it sees', async () => {
  const { ask } = await setUp()
  const { body } = await ask({ key: 'app' })
  expect(body.models?.map(({ model }) => model)).toEqual(['chat'])
})

test('for a disabled key there is nothing but its own state', async () => {
  const { ask, as, call } = await setUp()
  await call('disable_key', { as, params: { name: 'app' } })
  const about = async (model: string) => {
    const { decision } = (await ask({ key: 'app', model })).body
    return { ...decision, model: 'MODEL' }
  }
  const known = await about('chat')
  expect(known).toMatchObject({ served: false, rejection: { status: 401 }, checks: [] })
  expect(await about('secret-listed')).toEqual(known)
  expect(await about('secret-none')).toEqual(known)
})

test('a key of another tenant does not exist, and a question without a key is none of a tenant', async () => {
  const { ask } = await setUp()
  const foreign = await ask({ key: 'other', model: 'chat' })
  const none = await ask({ key: 'none', model: 'chat' })
  expect([foreign.status, none.status]).toEqual([404, 404])
  expect(foreign.body.detail.replace('other', 'NAME')).toBe(none.body.detail.replace('none', 'NAME'))
  expect((await ask({ model: 'chat' })).status).toBe(422)
})
