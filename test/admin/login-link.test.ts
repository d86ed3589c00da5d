import { afterAll, expect, test } from 'vitest'
import { keyDigest } from '../../src/base/api-key.ts'
import { controlScene } from './scene.ts'

const { addUser, call, clock, store } = await controlScene(afterAll)
await addUser('ada', 'admin')
const { users } = store

async function makeLink(link: string, validMs = 60_000): Promise<void> {
  await users.createLoginLink({ user: 'ada', digest: keyDigest(link), expiresAtMs: clock.nowMs() + validMs })
}
const use = (link: string) => call('log_in_by_link', { body: { link } })

test('a link opens one session, and is used up by it', async () => {
  await makeLink('gwl_one')
  const { status, body } = await use('gwl_one')
  expect([status, body['user']]).toMatchObject([201, { name: 'ada' }])
  const again = await use('gwl_one')
  expect([again.status, again.body.code]).toEqual([401, 'wrong_credentials'])
  expect((await users.audit({ limit: 1 }))[0]).toMatchObject({ action: 'log_in', user: 'ada' })
})

test('two uses at once open one session', async () => {
  await makeLink('gwl_both')
  const both = await Promise.all([use('gwl_both'), use('gwl_both')])
  expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 401])
})

test('a new link ends the one before it; a password, a disabled user and time end it as well', async () => {
  await makeLink('gwl_old')
  await makeLink('gwl_new')
  expect((await use('gwl_old')).status).toBe(401)
  await users.setPassword('ada', (await users.credential('ada'))?.passwordHash ?? '')
  expect((await use('gwl_new')).status).toBe(401)
  await makeLink('gwl_late')
  clock.advance(60_000)
  expect((await use('gwl_late')).status).toBe(401)
  await makeLink('gwl_disabled')
  await addUser('eve', 'admin')
  await users.changeUser('ada', { enabled: false })
  expect((await use('gwl_disabled')).status).toBe(401)
})

test('what is not a link gets the same answer', async () => {
  for (const link of ['x', 'gwl_', 'gwp_none']) expect((await use(link)).body.code).toBe('wrong_credentials')
})
