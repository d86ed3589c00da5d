import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { gwProcess, startGw } from '../cli/process.ts'
import { freePort } from '../support/free-port.ts'
import {
  hasNamespaces,
  hasNat,
  type NetworkNamespace,
  networkBehindNat,
  networkNamespace,
} from '../support/network-namespace.ts'
import { tempDir } from '../support/temp-dir.ts'

/**
 * A node in a network of its own, from which only outgoing connections are possible; then the network between swallows every packet
 * without an error, as a dead NAT does. Needs root, `ip` and network namespaces, behind NAT also `nft`; skipped without them.
 */
const GW = fileURLToPath(new URL('../../bin/gw.js', import.meta.url))
const APP_KEY = 'sk-a-secret-of-their-own-0123456789'
const FILE = `version: 1
nodes: { gpu-1: {} }
endpoints:
  m: { protocol: openai, served_model: demo-chat, nodes: { names: [gpu-1], engine: demo } }
publications: { m: { price: { input: 1, output: 1 }, bindings: [{ endpoint: m }] } }
keys: { app: { kind: platform, secret: { env: APP_KEY } } }
`

interface Scene {
  readonly call: (content: string, more?: object, signal?: AbortSignal) => Promise<Response>
  /** Of a small chat; 0 if there is no answer within a second. */
  readonly status: () => Promise<number>
  readonly connectedAt: () => Promise<string>
}

/** A gateway, and a node in `network` that serves. */
async function startScene(network: NetworkNamespace): Promise<Scene> {
  const dir = tempDir(onTestFinished)
  dir.write('gw.yaml', FILE)
  const [port, nodePort] = [await freePort(), await freePort()]
  const listen = ['--listen', `127.0.0.1:${port}`, '--node-listen', `${network.outsideAddress}:${nodePort}`]
  const world = { cwd: dir.path, stdin: '', environment: { APP_KEY } }
  const { child } = startGw(['serve', '-c', 'gw.yaml', '--gateway-only', ...listen], world)
  onTestFinished(() => void child.kill('SIGKILL'))
  await new Promise<void>(resolve => {
    child.stdout.on('data', (bytes: Buffer) => bytes.toString().includes('serving revision') && resolve())
  })
  const { stdout: token } = await gwProcess(['nodes', 'token', 'gpu-1'], { cwd: dir.path })
  const start = (words: string, environment: Readonly<Record<string, string>> = {}) =>
    network.run([GW, ...words.split(' ')], dir.path, environment)
  start('demo-upstream --listen 127.0.0.1:9101')
  start(
    `node join --server http://${network.outsideAddress}:${nodePort} --allow-plaintext --name gpu-1 --engine demo=http://127.0.0.1:9101 --state node.json`,
    { GW_JOIN_TOKEN: token.trim() },
  )
  const scene: Scene = {
    call: (content, more = {}, signal) =>
      fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${APP_KEY}` },
        signal: signal ?? null,
        body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content }], ...more }),
      }),
    status: async () => {
      const answer = await scene.call('Hello!', {}, AbortSignal.timeout(1_000)).catch(() => undefined)
      await answer?.body?.cancel()
      return answer?.status ?? 0
    },
    connectedAt: async () => {
      const { stdout } = await gwProcess(['nodes', 'show', 'gpu-1', '--format', 'json'], { cwd: dir.path })
      const { connected_at: at } = JSON.parse(stdout) as { readonly connected_at: string }
      return at
    },
  }
  await expect.poll(scene.status, { timeout: 30_000, interval: 500 }).toBe(200)
  return scene
}

it.runIf(hasNamespaces)(
  'a node behind a network that swallows everything gets no calls after 15 s, its calls end after 30 s, and it comes back',
  async () => {
    const network = networkNamespace(onTestFinished)
    const { call, status } = await startScene(network)
    // Nothing leads to the engine but the connection of the node.
    const direct = connect({ host: network.address, port: 9101 })
    expect(await new Promise(resolve => direct.on('error', resolve).on('connect', resolve))).toMatchObject({
      code: 'ECONNREFUSED',
    })

    const stream = await call('word '.repeat(20_000), { stream: true })
    const reader = stream.body?.getReader()
    await reader?.read()
    network.swallow(true)
    const startedMs = performance.now()
    const seconds = () => (performance.now() - startedMs) / 1_000
    await expect.poll(status, { timeout: 30_000, interval: 250 }).toBe(503)
    const silentAfter = seconds()
    let rest = ''
    for (;;) {
      const { done, value } = (await reader?.read()) ?? { done: true, value: undefined }
      if (done) break
      rest += String(Buffer.from(value ?? []))
    }
    const goneAfter = seconds()
    console.log(
      `no new calls after ${silentAfter.toFixed(1)} s, its calls end after ${goneAfter.toFixed(1)} s`,
    )
    expect(silentAfter).toBeLessThan(20)
    expect(goneAfter).toBeGreaterThan(25)
    expect(goneAfter).toBeLessThan(36)
    expect(rest).toContain('"error"')
    expect(rest).not.toContain('[DONE]')

    network.swallow(false)
    await expect.poll(status, { timeout: 60_000, interval: 500 }).toBe(200)
    console.log(`back after ${seconds().toFixed(1)} s`)
  },
  180_000,
)

it.runIf(hasNat)(
  'a router that forgets connections on which nothing passes for 13 s forgets none of a node',
  async () => {
    const network = networkBehindNat(onTestFinished)
    const { status, connectedAt } = await startScene(network)
    network.forgetIdle(13)
    expect(await status()).toBe(200)
    const before = await connectedAt()
    await pause(40_000)
    expect(await status()).toBe(200)
    expect(await connectedAt()).toBe(before)
  },
  120_000,
)

it.runIf(hasNat)(
  'a router that forgets the connection of a node leaves it without calls for half a minute at most',
  async () => {
    const network = networkBehindNat(onTestFinished)
    const { status, connectedAt } = await startScene(network)
    network.forgetIdle(3)
    expect(await status()).toBe(200)
    const before = await connectedAt()
    await pause(6_000)
    const startedMs = performance.now()
    expect(await status()).toBe(0)
    await expect.poll(status, { timeout: 60_000, interval: 500 }).toBe(200)
    const seconds = (performance.now() - startedMs) / 1_000
    console.log(`back after ${seconds.toFixed(1)} s`)
    expect(seconds).toBeLessThan(36)
    expect(await connectedAt()).not.toBe(before)
  },
  120_000,
)
