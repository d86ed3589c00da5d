import { connect, type Socket } from 'node:net'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { dial, GatewayRejection, join as joinGateway } from '../../src/agent/dial.ts'
import { systemClock } from '../../src/base/clock.ts'
import { systemRandom } from '../../src/base/random.ts'
import { type CloseReason, TunnelConnection } from '../../src/tunnel/connection.ts'
import type { ControlMessage } from '../../src/tunnel/control.ts'
import { StreamError } from '../../src/tunnel/stream.ts'
import { engine, JSON_CHAT, type NodeScene, nodeScene } from './node-scene.ts'

/** The code of a rejection. */
async function rejection(attempt: Promise<unknown>): Promise<string> {
  const error: unknown = await attempt.then(
    () => undefined,
    (raised: unknown) => raised,
  )
  return error instanceof GatewayRejection ? `${error.status} ${error.code}` : 'none'
}

const dialled = (scene: NodeScene, credential: string) =>
  dial(
    scene.server,
    'upgrade',
    { credential, instance: '0123456789abcdef', random: systemRandom },
    new AbortController().signal,
  )

const audited = async (scene: NodeScene) =>
  (await scene.gateway.inStore(({ store }) => store.users.audit({ limit: 100 }))).map(
    ({ action, user, target, reason }) =>
      `${action} ${target} by ${user}${reason === undefined ? '' : `: ${reason}`}`,
  )

/** A node that says what the test wants. */
async function hostile(scene: NodeScene, name = 'gpu-1') {
  const { credential } = await joinGateway(scene.server, await scene.token({ pattern: name }), name)
  const { carrier, head } = await dialled(scene, credential)
  const { promise: closed, resolve } = Promise.withResolvers<CloseReason>()
  const received: ControlMessage[] = []
  const opened: string[] = []
  const connection = new TunnelConnection(
    carrier,
    {
      side: 'node',
      clock: systemClock,
      version: '\u001B[2J',
      handler: {
        onHello: () => undefined,
        onControl: message => void received.push(message),
        onOpen: (stream, name) => {
          opened.push(name)
          stream.destroy(new StreamError('unreachable'))
        },
        onClose: resolve,
      },
    },
    head,
  )
  onTestFinished(() => connection.close('the test is over'))
  const say = (message: ControlMessage) => connection.sendControl(message)
  return { say, received, opened, closed, credential }
}

const MINUTE_LATER = 'update node_retired_credentials set retired_at_ms = retired_at_ms - 60000'

/** Changes the store of the gateway. */
function change(scene: Awaited<ReturnType<typeof nodeScene>>, statement: string): void {
  const raw = new Database(scene.gateway.store.replace('sqlite:', ''))
  raw.prepare(statement).run()
  raw.close()
}

const UP = (name: string) => ({ name, state: 'up', kind: 'vllm', models: ['m'] })

test('a credential is replaced after a day; if the old one appears again, both end', async () => {
  const vllm = await engine(() => JSON_CHAT)
  const scene = await nodeScene()
  const node = await scene.node('gpu-1', vllm.port)
  const { credential: first } = node.state
  change(scene, 'update node_credentials set issued_at_ms = issued_at_ms - 86400001')
  await expect.poll(() => node.state.credential, { timeout: 5_000 }).not.toBe(first)
  expect(await scene.status()).toBe(200)
  expect(node.events).not.toContainEqual(expect.objectContaining({ type: 'disconnected' }))

  // Its process is gone: the new one is valid.
  node.stop()
  await node.ended
  const again = scene.run(node.state.credential, vllm.port)
  await expect.poll(() => again.events).toContainEqual(expect.objectContaining({ type: 'connected' }))

  // A dial of the node itself may have been on its way.
  expect(await rejection(dialled(scene, first))).toBe('503 replaced_just_now')
  expect(await scene.status()).toBe(200)
  change(scene, MINUTE_LATER)
  expect(await rejection(dialled(scene, first))).toBe('401 reused_credential')
  await expect(again.ended).rejects.toMatchObject({ status: 401, code: 'revoked' })
  expect(await rejection(dialled(scene, node.state.credential))).toBe('401 unknown_credential')
  expect(await rejection(dialled(scene, first))).toBe('401 unknown_credential')
  expect(await audited(scene)).toContain('revoke_node node/gpu-1 by unknown: reused_credential')
}, 30_000)

test('a node that has stored its new credential and could not say so is known by it, and the old one ends', async () => {
  const scene = await nodeScene()
  const { say, received, credential: first, closed } = await hostile(scene)
  say({ type: 'engines', engines: [UP('vllm')] })
  change(scene, 'update node_credentials set issued_at_ms = issued_at_ms - 86400001')
  const credentials = () => received.filter(({ type }) => type === 'credential')
  await expect.poll(() => credentials().length, { timeout: 5_000 }).toBe(1)
  const next = String(credentials()[0]?.['credential'])
  const { carrier } = await dialled(scene, next)
  onTestFinished(() => void carrier.destroy())
  expect(await closed).toMatchObject({ code: 'lost' })
  change(scene, MINUTE_LATER)
  expect(await rejection(dialled(scene, first))).toBe('401 reused_credential')
}, 30_000)

test('a token for many names takes none that is in use, and no token takes that of a living node', async () => {
  const vllm = await engine(() => JSON_CHAT)
  const scene = await nodeScene()
  const node = await scene.node('gpu-1', vllm.port)
  const [exact, many] = [await scene.token(), await scene.token({ pattern: 'gpu-*', uses: 5 })]
  expect(await rejection(joinGateway(scene.server, exact, 'gpu-1'))).toBe('409 name_taken')
  node.stop()
  await node.ended
  await expect.poll(() => scene.state('gpu-1')).toBe('disconnected')
  expect(await rejection(joinGateway(scene.server, many, 'gpu-1'))).toBe('409 joined_already')
  expect(await rejection(joinGateway(scene.server, many, 'gpu-2'))).toBe('none')
  expect(await rejection(joinGateway(scene.server, exact, 'gpu-1'))).toBe('none')
  expect(await rejection(dialled(scene, node.state.credential))).toBe('401 unknown_credential')
})

test('what a token says of labels does not count where files declare nodes, nor does an engine that they do not name', async () => {
  const scene = await nodeScene('', 'gpu-1: { engines: [other] }')
  const { credential } = await joinGateway(
    scene.server,
    await scene.token({ labels: { pool: 'a' } }),
    'gpu-1',
  )
  const vllm = await engine(() => JSON_CHAT)
  const node = scene.run(credential, vllm.port)
  await expect.poll(() => node.events).toContainEqual(expect.objectContaining({ type: 'connected' }))
  await expect.poll(async () => (await scene.show('gpu-1')).engines?.length).toBe(1)
  expect((await scene.show('gpu-1')).labels).toEqual({})
  expect(await scene.status()).toBe(503)
})

test.each<[string, ControlMessage]>([
  ['a negative load', { type: 'load', load: { vllm: { running: -1, waiting: 0 } } }],
  ['a load without end', { type: 'load', load: { vllm: { running: 1e300, waiting: 0 } } }],
  ['a cache that is more than full', { type: 'load', load: { vllm: { running: 0, waiting: 0, cache: 2 } } }],
  ['an engine with an address for a name', { type: 'engines', engines: [UP('http://10.0.0.1')] }],
  ['too many engines', { type: 'engines', engines: Array.from({ length: 33 }, (_, at) => UP(`e${at}`)) }],
  ['models without names', { type: 'engines', engines: [{ ...UP('vllm'), models: [7] }] }],
  ['a credential that was never sent', { type: 'credential_stored' }],
])('a node that reports %s is disconnected', async (_title, message) => {
  const scene = await nodeScene()
  const { say, closed } = await hostile(scene)
  say(message)
  expect(await closed).toMatchObject({ code: 'lost' })
  await expect.poll(() => scene.state('gpu-1')).toBe('disconnected')
})

test('a report can take its own node out, and no other', async () => {
  const vllm = await engine(() => JSON_CHAT)
  const scene = await nodeScene()
  const liar = await hostile(scene, 'gpu-2')
  liar.say({ type: 'engines', engines: [UP('vllm')] })
  liar.say({ type: 'load', load: { vllm: { running: 0, waiting: 1, cache: 1 } } })
  await scene.node('gpu-1', vllm.port)
  await expect.poll(async () => (await scene.show('gpu-2')).engines?.length).toBe(1)
  for (let index = 0; index < 10; index++) expect(await scene.status()).toBe(200)
  expect(vllm.requests.filter(({ target }) => target === '/v1/chat/completions')).toHaveLength(10)
})

test('a node that claims the labels, the models and the name of another gets none of its calls', async () => {
  const vllm = await engine(() => JSON_CHAT)
  const scene = await nodeScene('', 'gpu-1: { labels: { pool: b } }')
  const liar = await hostile(scene)
  const claims = { node: 'gpu-2', name: 'gpu-2', labels: { pool: 'a' }, weight: 1_000 }
  liar.say({ type: 'engines', ...claims, engines: [{ ...UP('vllm'), ...claims, name: 'vllm' }] })
  liar.say({ type: 'load', ...claims, load: { vllm: { running: 0, waiting: 0, weight: 1_000 } } })
  liar.say({ type: 'labels', ...claims })
  liar.say({ type: 'hello', ...claims })
  await expect.poll(async () => (await scene.show('gpu-1')).engines?.length).toBe(1)
  expect((await scene.show('gpu-1')).labels).toEqual({ pool: 'b' })
  expect(await scene.status()).toBe(503)
  await scene.node('gpu-2', vllm.port)
  for (let index = 0; index < 10; index++) expect(await scene.status()).toBe(200)
  expect(vllm.requests.filter(({ target }) => target === '/v1/chat/completions')).toHaveLength(10)
  expect(liar.opened).toEqual([])
})

test('a token that has expired is rejected, and of many that replay one at once a single one joins', async () => {
  const scene = await nodeScene('settings: { nodes: { admission: token } }')
  const expired = await scene.token()
  const raw = new Database(scene.gateway.store.replace('sqlite:', ''))
  raw.prepare('update node_join_tokens set expires_at_ms = 1').run()
  raw.close()
  expect(await rejection(joinGateway(scene.server, expired, 'gpu-1'))).toBe('401 expired_token')
  const once = await scene.token({ pattern: 'gpu-*' })
  const outcomes = await Promise.all(
    Array.from({ length: 20 }, (_, at) => rejection(joinGateway(scene.server, once, `gpu-${at}`))),
  )
  expect(outcomes.sort()).toEqual([...Array(19).fill('401 used_token'), 'none'])
  const lines = await audited(scene)
  expect(lines).toContain('reject_node node/gpu-1 by unknown: expired_token')
  expect(lines.filter(line => line.startsWith('join_node'))).toHaveLength(1)
})

test('nothing that a node says reaches a terminal or a log as it is', async () => {
  const scene = await nodeScene()
  const { say, credential } = await hostile(scene)
  say({ type: 'engines', engines: [{ ...UP('vllm'), kind: '\u001B[31m', models: ['\u001B]0;x\u0007'] }] })
  await expect.poll(async () => (await scene.show('gpu-1')).engines?.length).toBe(1)
  const log = scene.gateway.log.join('')
  expect(log).not.toContain('\u001B')
  expect(log).not.toContain(credential)
})

test('connections that are no node leave room for nodes of other networks', async () => {
  const vllm = await engine(() => JSON_CHAT)
  const scene = await nodeScene()
  const port = Number(scene.server.url.port)
  const sockets: Socket[] = []
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
  })
  let closed = 0
  for (let index = 0; index < 400; index++) {
    const socket = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' })
    socket.on('error', () => undefined)
    socket.on('close', () => closed++)
    sockets.push(socket)
  }
  await expect.poll(() => closed, { timeout: 5_000 }).toBe(144)
  // Failures of one network do not count for another.
  const failing = Array.from(
    { length: 60 },
    () =>
      new Promise(resolve => {
        const socket = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.3' })
        socket.on('error', () => undefined)
        socket.on('close', resolve)
        socket.resume()
        socket.write('POST /node/v1/join HTTP/1.1\r\nhost: gw\r\ncontent-length: 2\r\n\r\n{}')
      }),
  )
  await Promise.all(failing)
  await scene.node('gpu-1', vllm.port)
  expect(await scene.status()).toBe(200)
}, 30_000)

test('the address for calls knows nothing of nodes', async () => {
  const scene = await nodeScene()
  const join = await fetch(`${scene.gateway.gatewayUrl}/node/v1/join`, {
    method: 'POST',
    body: JSON.stringify({ token: await scene.token(), name: 'gpu-1' }),
  })
  expect(join.status).toBe(404)
})
