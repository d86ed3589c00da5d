import { once } from 'node:events'
import { createServer as createHttpServer, request } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { GatewayRejection, join as joinGateway } from '../../src/agent/dial.ts'
import { newNodeCredential } from '../../src/base/node-secrets.ts'
import { systemRandom } from '../../src/base/random.ts'
import { drainNode, revokeNode, uncordonNode } from '../../src/services/nodes.ts'
import { gate } from '../support/gate.ts'
import { runNode } from '../support/running-node.ts'
import { engine, JSON_CHAT, nodeScene } from './node-scene.ts'

const SSE = { 'content-type': 'text/event-stream' }
const chunk = (text: string) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', model: 'm', choices: [{ index: 0, delta: { content: text } }] })}\n\n`

test('a connection that ends before the head is a failover, and in a stream an error event without [DONE]', async () => {
  const waits = gate()
  const one = await engine(() => ({ headers: SSE, body: [chunk('a'), waits] }))
  const two = await engine(() => JSON_CHAT)
  const scene = await nodeScene()
  const first = await scene.node('gpu-1', one.port)
  const stream = await scene.call({ stream: true })
  const reader = stream.body?.getReader()
  const begun = await reader?.read()
  expect(String(Buffer.from(begun?.value ?? []))).toContain('"a"')
  // The engine stays; the connection of the node is cut.
  await scene.gateway.inStore(context => revokeNode(context, { name: 'gpu-1' }))
  await expect(first.ended).rejects.toThrow(/revoked/)
  let rest = ''
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined }
    if (done) break
    rest += String(Buffer.from(value ?? []))
  }
  expect(rest).toContain('"error"')
  expect(rest).not.toContain('[DONE]')
  waits.open()

  // Both nodes fit: one breaks off before a head, the other answers.
  const silent = await engine(() => ({ headers: SSE, body: '', ending: 'reset' }))
  silent.answer(exchange => {
    if (exchange.request.target === '/v1/models') {
      return void exchange.write(
        'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 11\r\n\r\n{"data":[]}',
      )
    }
    exchange.reset()
  })
  await scene.node('gpu-1', silent.port)
  await scene.node('gpu-2', two.port)
  for (let index = 0; index < 8; index++) expect(await scene.status()).toBe(200)
  await expect.poll(async () => (await scene.calls({ node: 'gpu-2' })).length).toBe(8)
  const failedOver = (await scene.calls({ node: 'gpu-2' })).filter(({ attempts }) => attempts === 2)
  expect(failedOver.length).toBeGreaterThan(0)
  for (const { failedAttempts } of failedOver)
    expect(failedAttempts).toEqual([expect.stringMatching(/^qwen on gpu-1: upstream_/)])
})

test('metrics show nodes, their engines with their own figures, and endpoints on them', async () => {
  const page =
    'vllm:num_requests_running{model_name="m"} 3.0\nvllm:num_requests_waiting 1\nvllm:kv_cache_usage_perc 0.25\n'
  const vllm = await engine(() => JSON_CHAT, page)
  const scene = await nodeScene()
  await scene.node('gpu-1', vllm.port)
  expect(await scene.status()).toBe(200)
  await expect
    .poll(() => scene.metrics(), { timeout: 5_000 })
    .toEqual([
      'gw_node_connected{node="gpu-2"} 0',
      'gw_node_connected{node="gpu-1"} 1',
      'gw_node_engine_up{node="gpu-1",engine="vllm"} 1',
      'gw_node_engine_requests{node="gpu-1",engine="vllm",state="running"} 3',
      'gw_node_engine_requests{node="gpu-1",engine="vllm",state="waiting"} 1',
      'gw_node_engine_cache_usage{node="gpu-1",engine="vllm"} 0.25',
      'gw_node_requests_in_flight{endpoint="qwen",node="gpu-1"} 0',
      'gw_node_endpoint_healthy{endpoint="qwen",node="gpu-1"} 1',
    ])
})

test('revocation ends the connection within a second, and the node stops', async () => {
  const vllm = await engine(() => JSON_CHAT)
  const scene = await nodeScene()
  const node = await scene.node('gpu-1', vllm.port)
  const startedMs = performance.now()
  await scene.gateway.inStore(context => revokeNode(context, { name: 'gpu-1' }))
  await expect(node.ended).rejects.toMatchObject({ status: 401, code: 'revoked' })
  expect(performance.now() - startedMs).toBeLessThan(1_500)
  expect(await scene.status()).toBe(503)
})

test('a draining node gets no new calls, and those in flight end; uncordoned it gets calls again', async () => {
  const waits = gate()
  const vllm = await engine(() => ({
    headers: SSE,
    body: [chunk('a'), waits, chunk('b'), 'data: [DONE]\n\n'],
  }))
  const scene = await nodeScene()
  await scene.node('gpu-1', vllm.port)
  const stream = await scene.call({ stream: true })
  await scene.gateway.inStore(context => drainNode(context, { name: 'gpu-1' }))
  expect(await scene.state('gpu-1')).toBe('draining')
  await expect.poll(() => scene.status()).toBe(503)
  waits.open()
  expect(await stream.text()).toContain('[DONE]')
  await scene.gateway.inStore(context => uncordonNode(context, { name: 'gpu-1' }))
  await expect.poll(() => scene.status({ stream: true })).toBe(200)
})

test('a node that is asked to stop lets its calls end', async () => {
  const waits = gate()
  const vllm = await engine(() => ({ headers: SSE, body: [chunk('a'), waits, 'data: [DONE]\n\n'] }))
  const scene = await nodeScene()
  const node = await scene.node('gpu-1', vllm.port)
  const stream = await scene.call({ stream: true })
  node.stop()
  await expect.poll(() => scene.status()).toBe(503)
  waits.open()
  expect(await stream.text()).toContain('[DONE]')
  await node.ended
  await expect.poll(() => scene.state('gpu-1')).toBe('disconnected')
})

test('of two processes with one credential the living one keeps the name, and both are informed', async () => {
  const vllm = await engine(() => JSON_CHAT)
  const scene = await nodeScene()
  const { credential } = await joinGateway(scene.server, await scene.token(), 'gpu-1')
  const first = scene.run(credential, vllm.port)
  await expect.poll(() => first.events.some(({ type }) => type === 'connected')).toBe(true)
  const second = scene.run(credential, vllm.port)
  await expect
    .poll(() => second.events)
    .toContainEqual(
      expect.objectContaining({ type: 'unreachable', reason: 'A node of this name is connected.' }),
    )
  expect(first.events).toContainEqual(expect.objectContaining({ type: 'notice', code: 'name_taken' }))
  expect(first.events).not.toContainEqual(expect.objectContaining({ type: 'disconnected' }))
})

test('an engine that ends is down, not the node; it is used again when it answers', async () => {
  const vllm = await engine(() => JSON_CHAT)
  const scene = await nodeScene()
  await scene.node('gpu-1', vllm.port)
  const { port } = vllm
  await vllm.close()
  await expect
    .poll(async () => (await scene.show('gpu-1')).engines?.[0]?.state, { timeout: 12_000 })
    .toBe('down')
  expect(await scene.state('gpu-1')).toBe('connected')
  expect(await scene.status()).toBe(503)
  expect(port).toBeGreaterThan(0)
}, 30_000)

test('while nodes cannot be read from the store, joined ones serve, none joins, and those that dial come back', async () => {
  const vllm = await engine(() => JSON_CHAT)
  const scene = await nodeScene()
  const node = await scene.node('gpu-1', vllm.port)
  const { credential } = await joinGateway(scene.server, await scene.token({ pattern: 'gpu-2' }), 'gpu-2')
  const token = await scene.token({ pattern: 'gpu-2' })
  const rename = (from: string, to: string) => {
    const raw = new Database(scene.gateway.store.replace('sqlite:', ''))
    raw.exec(`alter table ${from} rename to ${to}`)
    raw.close()
  }
  const unread = () => scene.gateway.logged('the state of nodes cannot be read')
  const first = unread()
  rename('node_credentials', 'node_credentials_away')
  await first
  await unread()
  expect(await scene.status()).toBe(200)
  await expect(joinGateway(scene.server, token, 'gpu-2')).rejects.toMatchObject({ status: 503 })
  const other = scene.run(credential, vllm.port)
  await expect
    .poll(() => other.events, { timeout: 30_000 })
    .toContainEqual(
      expect.objectContaining({ type: 'unreachable', reason: 'The gateway cannot read its store now.' }),
    )

  rename('node_credentials_away', 'node_credentials')
  // Its pauses have grown with its failures.
  await expect
    .poll(() => other.events, { timeout: 60_000 })
    .toContainEqual(expect.objectContaining({ type: 'connected' }))
  expect(node.events).not.toContainEqual(expect.objectContaining({ type: 'disconnected' }))
}, 120_000)

test('attempts to join that are not allowed are rejected, audited and bounded', async () => {
  const scene = await nodeScene()
  const { server } = scene
  const rejection = async (attempt: Promise<unknown>) => {
    const error: unknown = await attempt.catch((raised: unknown) => raised)
    return error instanceof GatewayRejection ? `${error.status} ${error.code}` : 'none'
  }
  const other = await scene.token({ pattern: 'gpu-2' })
  const undeclared = await scene.token({ pattern: '*' })
  const once = await scene.token()
  expect(await rejection(joinGateway(server, `gwj_${'a'.repeat(43)}`, 'gpu-1'))).toBe('401 unknown_token')
  expect(await rejection(joinGateway(server, 'gwn_x', 'gpu-1'))).toBe('401 unknown_token')
  expect(await rejection(joinGateway(server, other, 'gpu-1'))).toBe('403 other_name')
  expect(await rejection(joinGateway(server, undeclared, 'gpu-9'))).toBe('403 not_declared')
  expect(await rejection(joinGateway(server, once, '../gpu-1'))).toBe('400 malformed')
  expect(await rejection(joinGateway(server, once, 'gpu-1'))).toBe('none')
  expect(await rejection(joinGateway(server, once, 'gpu-1'))).toBe('401 used_token')
  const node = scene.run(newNodeCredential(systemRandom), 9)
  await expect(node.ended).rejects.toMatchObject({ status: 401, code: 'unknown_credential' })
  const audit = await scene.gateway.inStore(({ store }) => store.users.audit({ limit: 100 }))
  const lines = audit
    .map(({ action, target, reason = '' }) => `${action} ${target} ${reason}`.trim())
    .reverse()
  expect(lines.filter(line => /_node /.test(line))).toEqual([
    'reject_node node/gpu-1 unknown_token',
    'reject_node node/gpu-1 unknown_token',
    'reject_node node/gpu-1 other_name',
    'reject_node node/gpu-9 not_declared',
    'reject_node node/unknown malformed',
    'join_node node/gpu-1',
    'reject_node node/gpu-1 used_token',
    'reject_node node/unknown unknown_credential',
  ])

  const flood = await Promise.all(
    Array.from({ length: 300 }, () => rejection(joinGateway(server, `gwj_${'b'.repeat(43)}`, 'gpu-1'))),
  )
  expect(flood.filter(answer => answer === '429 too_many').length).toBeGreaterThan(100)
  const after = await scene.gateway.inStore(({ store }) =>
    store.users.audit({ limit: 500, action: 'reject_node' }),
  )
  expect(after.length).toBeLessThan(40)
}, 60_000)

test.each([
  ['another path', 'GET /node/v1/other HTTP/1.1\r\nupgrade: gw-tunnel\r\nconnection: upgrade\r\n', 404],
  ['another protocol', 'GET /node/v1/tunnel HTTP/1.1\r\nupgrade: websocket\r\nconnection: upgrade\r\n', 400],
  [
    'another version',
    'GET /node/v1/tunnel HTTP/1.1\r\nupgrade: gw-tunnel\r\nconnection: upgrade\r\ngw-tunnel-version: 9\r\n',
    426,
  ],
  [
    'a WebSocket of another protocol',
    'GET /node/v1/tunnel HTTP/1.1\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-protocol: chat\r\n',
    400,
  ],
  [
    'no credential',
    'GET /node/v1/tunnel HTTP/1.1\r\nupgrade: gw-tunnel\r\nconnection: upgrade\r\ngw-tunnel-version: 1\r\ngw-node-instance: 0123456789abcdef\r\n',
    401,
  ],
  ['no upgrade', 'GET /node/v1/tunnel HTTP/1.1\r\n', 404],
  ['inference', 'POST /v1/chat/completions HTTP/1.1\r\ncontent-length: 0\r\n', 404],
])('the address for nodes rejects %s', async (_title, head, status) => {
  const { server } = await nodeScene()
  const socket = connect(Number(server.url.port), '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.write(`${head}host: gw\r\n\r\n`)
  let text = ''
  for await (const bytes of socket) {
    text += String(bytes)
    if (text.includes('}')) break
  }
  expect(text).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
})

test('a node is connected to each of several gateways, and its credential is replaced once', async () => {
  const vllm = await engine(() => JSON_CHAT)
  const scene = await nodeScene()
  const other = await scene.another()
  const { credential } = await joinGateway(scene.server, await scene.token(), 'gpu-1')
  const node = scene.run(credential, vllm.port, [other.nodesUrl])
  for (const gateway of [scene.gateway, other])
    await expect.poll(async () => (await scene.call({}, gateway)).status, { timeout: 5_000 }).toBe(200)

  const raw = new Database(scene.gateway.store.replace('sqlite:', ''))
  raw.prepare('update node_credentials set issued_at_ms = issued_at_ms - 86400001').run()
  raw.close()
  const rotations = () => node.events.filter(({ type }) => type === 'rotated').length
  await expect.poll(rotations, { timeout: 5_000 }).toBe(1)
  await new Promise(resolve => setTimeout(resolve, 1_500))
  expect(rotations()).toBe(1)

  await scene.gateway.serving.close(0)
  for (let index = 0; index < 5; index++) expect((await scene.call({}, other)).status).toBe(200)
  expect(await scene.state('gpu-1')).toBe('connected')
  // Revoked at one, it stops at all of them.
  await other.inStore(context => revokeNode(context, { name: 'gpu-1' }))
  await expect(node.ended).rejects.toMatchObject({ status: 401 })
}, 30_000)

/** A load balancer of HTTP: passes plain requests, and of all upgrades WebSockets alone. */
async function loadBalancer(to: string): Promise<string> {
  const { hostname, port } = new URL(to)
  const server = createHttpServer((req, res) => {
    const { connection: _hop, upgrade: _dropped, ...headers } = req.headers
    const passed = request({ host: hostname, port, path: req.url, method: req.method, headers }, answer => {
      res.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(res)
    })
    passed.on('error', () => res.destroy())
    req.pipe(passed)
  })
  server.on('upgrade', (req, socket: Socket) => {
    socket.on('error', () => socket.destroy())
    if (req.headers.upgrade !== 'websocket')
      return void socket.end('HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n')
    const far = connect(Number(port), hostname, () => {
      const lines = Array.from({ length: req.rawHeaders.length / 2 }, (_, at) =>
        req.rawHeaders.slice(2 * at, 2 * at + 2).join(': '),
      )
      far.write(`${req.method} ${req.url} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
      socket.pipe(far).pipe(socket)
    })
    far.on('error', () => socket.destroy())
    onTestFinished(() => void far.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test.each([undefined, 'websocket'] as const)(
  'a node behind a load balancer that passes WebSockets alone serves calls: carrier %s',
  async carrier => {
    const vllm = await engine(() => ({ headers: SSE, body: [chunk('a'), chunk('b'), 'data: [DONE]\n\n'] }))
    const scene = await nodeScene()
    const url = await loadBalancer(scene.gateway.nodesUrl)
    const { credential } = await joinGateway({ url: new URL(url) }, await scene.token(), 'gpu-1')
    const engines = [{ name: 'vllm', host: '127.0.0.1', port: vllm.port }]
    const node = runNode(url, onTestFinished, credential, engines, carrier)
    await expect
      .poll(() => node.events, { timeout: 10_000 })
      .toContainEqual(expect.objectContaining({ type: 'connected', carrier: 'websocket' }))
    const failures = node.events.filter(({ type }) => type === 'unreachable')
    expect(failures).toHaveLength(carrier === undefined ? 1 : 0)
    await expect.poll(() => scene.status({ stream: true })).toBe(200)
    const answer = await scene.call({ stream: true })
    expect(await answer.text()).toContain('[DONE]')
  },
  30_000,
)
