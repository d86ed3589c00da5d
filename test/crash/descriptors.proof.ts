import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { chunk } from '../gateway/calls.ts'
import { type RawClient, rawClient } from '../gateway/raw-client.ts'
import { json } from '../support/answers.ts'
import { PATH, type Scene, SECRET, said, scene } from './scene.ts'

const GW = fileURLToPath(new URL('../../bin/gw.js', import.meta.url))
/** Enough to start with; far too few for what comes. */
const OPEN_FILES = 400
const CONNECTION_MANAGER = 600
const BODY = '{"model":"m","max_tokens":10}'

/** The real command, under a limit of open files of its own. */
async function serveWithin(
  { dir }: Scene,
  ...flags: string[]
): Promise<{ child: ChildProcess; url: string }> {
  const line = `ulimit -n ${OPEN_FILES}; exec "$NODE" "$GW" serve --gateway-only --listen 127.0.0.1:0 --log-level warn "$@"`
  const child = spawn('bash', ['-c', line, 'bash', ...flags], {
    cwd: dir.path,
    env: { PATH: process.env['PATH'], HOME: dir.path, APP_KEY: SECRET, NODE: process.execPath, GW },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const address = await said(child, 'Gateway on ')
  await said(child, 'Serving revision')
  return { child, url: address.slice('Gateway on '.length) }
}

async function connections(url: string): Promise<readonly RawClient[]> {
  const clients = await Promise.allSettled(
    Array.from({ length: CONNECTION_MANAGER }, async () => {
      const client = await rawClient(onTestFinished, url)
      await client.write('GET /health HTTP/1.1\r\n')
      return client
    }),
  )
  return clients.flatMap(client => (client.status === 'fulfilled' ? [client.value] : []))
}

async function isServed(url: string): Promise<void> {
  const client = await rawClient(onTestFinished, url)
  await client.write(
    `POST ${PATH} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${SECRET}\r\ntransfer-encoding: chunked\r\n\r\n`,
  )
  await client.write(Buffer.concat([chunk(BODY), Buffer.from('0\r\n\r\n')]))
  expect((await client.answer()).status).toBe(200)
  client.socket.destroy()
}

describe('more clients than the system gives descriptors for', () => {
  it('find a gateway that says so to the last and serves those that ask', async () => {
    const world = await scene()
    world.upstream.answer(json('{"model":"served","usage":{"prompt_tokens":1,"completion_tokens":1}}'))
    const { child, url } = await serveWithin(world)
    let log = ''
    child.stdout?.on('data', (piece: Buffer) => {
      log += piece.toString()
    })
    const clients = await connections(url)
    expect(clients).toHaveLength(CONNECTION_MANAGER)
    const shown = await Promise.allSettled(clients.slice(-5).map(client => client.answer()))
    const [answer] = shown.flatMap(one => (one.status === 'fulfilled' ? [one.value] : []))
    if (answer) {
      expect(answer.status).toBe(503)
      expect(answer.values('retry-after')).toEqual(['1'])
      expect(answer.json()).toMatchObject({ error: { type: 'server_error', code: 'too_many_connections' } })
    }
    // Those that only take room have rested for long enough to make it.
    await expect.poll(() => log).toContain('connections are at their limit')
    await expect.poll(() => isServed(url).then(() => true), { interval: 500 }).toBe(true)
    expect(child.exitCode).toBe(null)
  })

  it('do no lasting harm where nothing holds them back: what is over is dropped, and when they leave all is well', async () => {
    const world = await scene()
    world.upstream.answer(json('{"model":"served","usage":{"prompt_tokens":1,"completion_tokens":1}}'))
    const { child, url } = await serveWithin(world, '--max-connections', '5000')
    child.stdout?.resume()
    for (let round = 0; round < 2; round++) {
      const clients = await connections(url)
      // No descriptor is left: the last were accepted only to be closed.
      await Promise.all(clients.slice(-100).map(client => client.closed))
      for (const client of clients) client.socket.destroy()
      await expect.poll(() => isServed(url).then(() => true), { interval: 200 }).toBe(true)
    }
    expect(child.exitCode).toBe(null)
  })
})
