import { describe, expect, onTestFinished, test } from 'vitest'
import { controlScene, PASSWORD } from './scene.ts'

async function setUp() {
  const scene = await controlScene(onTestFinished)
  await scene.addUser('ada', 'admin')
  return scene
}

describe('a log-in', () => {
  test('gives a script a token, and tells nobody else', async () => {
    const { call, clock } = await setUp()
    const answer = await call('log_in', { body: { username: 'ada', password: PASSWORD } })
    const nowMs = clock.nowMs()
    expect([answer.status, answer.body]).toEqual([
      201,
      {
        user: { name: 'ada', role: 'admin' },
        carrier: 'bearer',
        token: expect.stringMatching(/^gws_[\w-]{43}$/),
        created_at: new Date(nowMs).toISOString(),
        idle_expires_at: new Date(nowMs + 30 * 60_000).toISOString(),
        expires_at: new Date(nowMs + 12 * 3_600_000).toISOString(),
      },
    ])
    expect(answer.headers.get('set-cookie')).toBeNull()
  })
})
