import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { rawClient } from '../gateway/raw-client.ts'
import { type ControlScene, controlScene } from './scene.ts'

const HEAD = 'POST /api/v1/session HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n'

/** Opens connections that ask for a log-in and never send the rest of it; how many of them are open. */
async function halfSent(scene: ControlScene, count: number, localAddress: string): Promise<() => number> {
  const port = Number(new URL(scene.url).port)
  let open = 0
  await Promise.all(
    Array.from({ length: count }, async () => {
      const socket = connect({ host: '127.0.0.1', port, localAddress })
      onTestFinished(() => void socket.destroy())
      socket.on('error', () => undefined).on('close', () => open--)
      await once(socket, 'connect')
      open++
      socket.write(`${HEAD}content-length: 60\r\n\r\n{"`)
    }),
  )
  return () => open
}

async function setUp() {
  const scene = await controlScene(onTestFinished)
  await scene.addUser('ada', 'admin')
  return { scene, as: await scene.logIn('ada') }
}

test('1,000 half-sent changes of one user block no other one', async () => {
  const { scene, as } = await setUp()
  await scene.addUser('tom', 'admin')
  const tom = await scene.logIn('tom')
  const port = Number(new URL(scene.url).port)
  let open = 0
  for (let round = 0; round < 10; round++) {
    await Promise.all(
      Array.from({ length: 100 }, async () => {
        const socket = connect({ host: '127.0.0.1', port })
        onTestFinished(() => void socket.destroy())
        socket.on('error', () => undefined).on('close', () => open--)
        await once(socket, 'connect')
        open++
        socket.write(
          `POST /api/v1/tenants HTTP/1.1\r\nhost: localhost\r\nauthorization: ${tom.headers['authorization']}\r\n` +
            'content-type: application/json\r\ncontent-length: 100000\r\n\r\n{',
        )
      }),
    )
  }
  await expect.poll(() => open, { timeout: 8_000 }).toBeLessThanOrEqual(250)
  expect((await scene.send('GET', '/health')).status).toBe(200)
  expect((await scene.call('get_session', { as })).status).toBe(200)
})

describe('1,000 half-sent log-ins', () => {
  const ADDRESSES = ['127.0.0.2', '127.0.0.3', '127.0.0.4', '127.0.0.5', '127.0.0.6']

  test('block no user, and end no upload of a session', async () => {
    const { scene, as } = await setUp()
    const uploading = await rawClient(onTestFinished, scene.url)
    const body = JSON.stringify({ name: 'late' })
    await uploading.write(
      `POST /api/v1/tenants HTTP/1.1\r\nhost: localhost\r\nauthorization: ${as.headers['authorization']}\r\n` +
        `content-type: application/json\r\ncontent-length: ${body.length}\r\nexpect: 100-continue\r\n\r\n`,
    )
    // It is read, so its sender is known.
    await once(uploading.socket, 'readable')
    for (const address of ADDRESSES) await halfSent(scene, 1_000 / ADDRESSES.length, address)
    for (let times = 0; times < 3; times++) {
      expect((await scene.send('GET', '/health')).status).toBe(200)
      await halfSent(scene, 50, '127.0.0.2')
    }
    expect((await scene.call('get_session', { as })).status).toBe(200)
    expect((await scene.logIn('ada')).token).toMatch(/^gws_/)
    await uploading.write(body)
    await uploading.until(answer => answer.status === 201)
  })

  test('from one address take a quarter of the room, and the oldest of them go first', async () => {
    const { scene } = await setUp()
    const first = await halfSent(scene, 1, '127.0.0.2')
    const others = await halfSent(scene, 400, '127.0.0.2')
    await expect.poll(() => first() + others(), { timeout: 8_000 }).toBe(250)
    expect(first()).toBe(0)
  })
})
