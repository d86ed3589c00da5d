import { expect, onTestFinished, test } from 'vitest'
import type { Explanation } from '../../src/services/why/to-json.ts'
import { gate } from '../support/gate.ts'
import { controlScene, type LoggedIn } from './scene.ts'

const EXPLAINED: Explanation = { source: 'gateway', at: '2026-01-15T12:00:00.000Z', unknown: [], models: [] }

test('the gateway computes one explanation at a time, and a user has at most four open in all sessions', async () => {
  const ends = [gate(), gate(), gate(), gate(), gate()]
  let begun = 0
  const { addUser, call, logIn } = await controlScene(onTestFinished, {
    explainHere: async () => {
      await ends[begun++]?.opened
      return EXPLAINED
    },
  })
  await addUser('ada', 'admin')
  await addUser('eve', 'admin')
  const [one, two, other] = [await logIn('ada'), await logIn('ada'), await logIn('eve')]
  const ask = (as: LoggedIn) => call('explain', { as, query: { key: 'k' } })
  const askBySecret = (as: LoggedIn) => call('explain_secret', { as, body: { secret: 's' } })
  const asked = [ask(one), askBySecret(two), ask(one), askBySecret(two), ask(two)]
  const first = await Promise.race(asked)
  expect([first.status, first.body.code]).toEqual([429, 'too_many_open_requests'])
  const later = ask(other)
  for (const [index, end] of ends.entries()) {
    await expect.poll(() => begun).toBe(index + 1)
    end.open()
  }
  const statuses = (await Promise.all(asked)).map(({ status }) => status)
  expect(statuses.filter(status => status === 200)).toHaveLength(4)
  expect((await later).status).toBe(200)
  expect((await ask(one)).status).toBe(200)
})

test('an explanation that fails delays no other', async () => {
  let asked = 0
  const { addUser, call, logIn } = await controlScene(onTestFinished, {
    explainHere: async () => {
      if (asked++ === 0) throw new Error('a bug')
      return EXPLAINED
    },
  })
  await addUser('ada', 'admin')
  const as = await logIn('ada')
  const ask = async () => (await call('explain', { as, query: { key: 'k' } })).status
  // Either of the two may reach the gateway first.
  expect(new Set(await Promise.all([ask(), ask()]))).toEqual(new Set([500, 200]))
})
