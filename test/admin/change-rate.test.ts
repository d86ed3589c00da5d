import { expect, onTestFinished, test } from 'vitest'
import { controlScene } from './scene.ts'

test('users of a tenant make thirty changes at once and then one each two seconds, and delay no other user', async () => {
  const { addUser, call, clock, logIn } = await controlScene(onTestFinished)
  await addUser('ada', 'admin')
  const admin = await logIn('ada')
  for (const tenant of ['acme', 'other']) {
    const body = { name: `${tenant}/k`, kind: 'tenant', tenant }
    await call('create_key', { as: admin, body })
    await call('issue_key', { as: admin, params: { name: body.name } })
  }
  await addUser('tom', 'tenant', 'acme')
  await addUser('tim', 'tenant', 'acme')
  await addUser('eve', 'tenant', 'other')
  const [tom, tim, eve] = [await logIn('tom'), await logIn('tim'), await logIn('eve')]
  const rotate = (as: typeof tom, name: string) =>
    call('rotate_key', { as, params: { name }, body: { grace: '1h' } })
  for (let times = 0; times < 15; times++) {
    expect((await rotate(tom, 'acme/k')).status).toBe(201)
    expect((await rotate(tim, 'acme/k')).status).toBe(201)
  }
  const rejected = await rotate(tom, 'acme/k')
  expect([rejected.status, rejected.body.code, rejected.headers.get('retry-after')]).toEqual([
    429,
    'too_many_changes',
    '2',
  ])
  const shown = await call('get_key', { as: tom, params: { name: 'acme/k' } })
  expect(shown.body['secret']).toMatchObject({ active: 2 })
  expect((await rotate(eve, 'other/k')).status).toBe(201)
  expect((await rotate(admin, 'acme/k')).status).toBe(201)
  clock.advance(2_000)
  expect((await rotate(tim, 'acme/k')).status).toBe(201)
  expect((await rotate(tom, 'acme/k')).status).toBe(429)
  expect((await call('log_out', { as: tom })).status).toBe(204)
})

test('explanations of a tenant count like its changes, those of an administrator do not', async () => {
  const { addUser, call, logIn } = await controlScene(onTestFinished)
  await addUser('ada', 'admin')
  await addUser('tom', 'tenant', 'acme')
  const [admin, tom] = [await logIn('ada'), await logIn('tom')]
  const ask = async (as: typeof tom) => (await call('explain', { as, query: { key: 'none' } })).status
  for (let times = 0; times < 30; times++) expect(await ask(tom)).toBe(404)
  expect(await ask(tom)).toBe(429)
  for (let times = 0; times < 31; times++) expect(await ask(admin)).toBe(404)
})
