import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { type AgentEvent, runAgent } from '../../src/agent/agent.ts'
import { type JoinOptions, joinNode, type NodeIo } from '../../src/agent/commands.ts'
import { readState } from '../../src/agent/state-file.ts'
import { CommandError } from '../../src/base/catalogue/command.ts'
import { systemClock } from '../../src/base/clock.ts'
import { newJoinToken, newNodeCredential } from '../../src/base/node-secrets.ts'
import { systemRandom } from '../../src/base/random.ts'
import { TunnelConnection } from '../../src/tunnel/connection.ts'
import { freePort } from '../support/free-port.ts'
import { tempDir } from '../support/temp-dir.ts'
import { type TestClock, testClock } from '../support/test-clock.ts'

type Answer = { readonly status: number; readonly body: string } | 'accept' | 'reset'

const rejected = (status: number, code: string): Answer => ({
  status,
  body: JSON.stringify({ code, message: `Rejected: ${code}.` }),
})

interface Accepted {
  readonly connection: TunnelConnection
  readonly socket: Socket
  readonly hello: Promise<void>
}

/** The address of a gateway for nodes, which answers what the test wants. */
async function scriptedGateway(answer: (attempt: number) => Answer) {
  const attempts: IncomingMessage[] = []
  const accepted: Accepted[] = []
  const server = createServer((req, res) => {
    attempts.push(req)
    const now = answer(attempts.length)
    if (typeof now === 'string') return void res.destroy()
    res.writeHead(now.status, { connection: 'close' }).end(now.body)
  })
  server.on('upgrade', (req: IncomingMessage, duplex, head: Buffer) => {
    const socket = duplex as Socket
    socket.on('error', () => socket.destroy())
    attempts.push(req)
    const now = answer(attempts.length)
    if (now === 'reset') return void socket.resetAndDestroy()
    if (now !== 'accept')
      return void socket.end(
        `HTTP/1.1 ${now.status} Rejected\r\ncontent-length: ${Buffer.byteLength(now.body)}\r\nconnection: close\r\n\r\n${now.body}`,
      )
    socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: gw-tunnel\r\n\r\n')
    const { promise: hello, resolve: onHello } = Promise.withResolvers<void>()
    const handler = { onHello: () => onHello(), onControl: () => undefined, onClose: () => undefined }
    const connection = new TunnelConnection(
      socket,
      { side: 'gateway', clock: systemClock, version: 'test', handler },
      head,
    )
    accepted.push({ connection, socket, hello })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const { connection } of accepted) connection.close('the test is over')
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: new URL(`http://127.0.0.1:${port}`), attempts, accepted }
}

/** A node whose pauses end when the test says so. */
function agentOf(urls: readonly URL[], fraction: () => number = () => 0.5, engines: readonly number[] = [9]) {
  const clock = testClock()
  const events: AgentEvent[] = []
  const watchers = new Set<() => void>()
  const abort = new AbortController()
  const ended = runAgent({
    servers: urls.map(url => ({ url })),
    credential: newNodeCredential(systemRandom),
    engines: engines.map(port => ({ name: 'vllm', host: '127.0.0.1', port })),
    clock,
    random: { bytes: length => systemRandom.bytes(length), fraction },
    version: 'test',
    signal: abort.signal,
    drainMs: 0,
    onCredential: async () => undefined,
    onEvent: event => {
      events.push(event)
      for (const watcher of watchers) watcher()
    },
  })
  const over = ended.catch(() => undefined)
  onTestFinished(async () => {
    abort.abort()
    clock.advance(1_000)
    await over
  })
  const pauses = () => events.flatMap(event => (event.type === 'unreachable' ? [event.retryMs] : []))
  /** Resolves as soon as there are so many events of a type. */
  const seen = (type: AgentEvent['type'], count: number) =>
    new Promise<void>(resolve => {
      const watch = (): void => {
        if (events.filter(event => event.type === type).length < count) return
        watchers.delete(watch)
        resolve()
      }
      watchers.add(watch)
      watch()
    })
  return { clock, events, pauses, seen, ended }
}

/** Lets `count` attempts fail, each after the pause of the one before. */
async function failures(
  agent: {
    readonly clock: TestClock
    readonly pauses: () => readonly number[]
    seen(type: 'unreachable', count: number): Promise<void>
  },
  count: number,
): Promise<readonly number[]> {
  const from = agent.pauses().length
  for (let index = 1; index <= count; index++) {
    await agent.seen('unreachable', from + index)
    if (index < count) agent.clock.advance(agent.pauses().at(-1) ?? 0)
  }
  return agent.pauses().slice(from)
}

test.each([
  [401, 'unknown_credential'],
  [403, 'not_declared'],
  [426, 'version'],
])('a node that its only gateway answers %s ends, without another attempt', async (status, code) => {
  const gateway = await scriptedGateway(() => rejected(status, code))
  const { ended, events } = agentOf([gateway.url])
  await expect(ended).rejects.toMatchObject({ name: 'GatewayRejection', status, code })
  expect(gateway.attempts).toHaveLength(1)
  expect(events.filter(({ type }) => type === 'unreachable')).toEqual([])
})

test.each([
  [403, 'not_declared'],
  [426, 'version'],
])(
  'a node that one of two gateways answers %s serves the other, and asks the first one each 30 s',
  async (status, code) => {
    const old = await scriptedGateway(() => rejected(status, code))
    const other = await scriptedGateway(() => 'accept')
    const agent = agentOf([old.url, other.url])
    await agent.seen('connected', 1)
    for (let attempt = 1; attempt <= 3; attempt++) {
      await agent.seen('unreachable', attempt)
      agent.clock.advance(20_000)
      // The connection to the other one is heard, or it would be given up after 30 s.
      other.accepted[0]?.connection.sendControl({ type: 'notice', code: 'still_here' })
      await agent.seen('notice', attempt)
      expect(old.attempts).toHaveLength(attempt)
      agent.clock.advance(10_000)
    }
    await agent.seen('unreachable', 4)
    expect(agent.pauses()).toEqual([30_000, 30_000, 30_000, 30_000])
    expect(other.attempts).toHaveLength(1)
  },
)

test('a node that one of two gateways answers 401 ends: both have one store', async () => {
  const one = await scriptedGateway(() => rejected(401, 'unknown_credential'))
  const other = await scriptedGateway(() => 'accept')
  await expect(agentOf([one.url, other.url]).ended).rejects.toMatchObject({ status: 401 })
})

test.each<[string, Answer]>([
  ['409 of a gateway', rejected(409, 'name_taken')],
  ['429 of a gateway', rejected(429, 'too_many')],
  ['503 of a gateway', rejected(503, 'unavailable')],
  ['401 of something else', { status: 401, body: '<html>proxy</html>' }],
  ['403 of something else', { status: 403, body: '{}' }],
  ['426 of something else', { status: 426, body: '' }],
  ['a reset', 'reset'],
])('after %s the node tries again', async (_title, answer) => {
  const gateway = await scriptedGateway(attempt => (attempt < 3 ? answer : 'accept'))
  const agent = agentOf([gateway.url])
  await failures(agent, 2)
  // The other carrier is tried in between: this gateway takes one of them alone.
  while (!agent.events.some(({ type }) => type === 'connected')) {
    const before = agent.pauses().length
    agent.clock.advance(30_000)
    await Promise.race([agent.seen('connected', 1), agent.seen('unreachable', before + 1)])
  }
})

test('pauses are drawn from 0.5 s to a limit that doubles up to 30 s', async () => {
  const gone = new URL(`http://127.0.0.1:${await freePort()}`)
  expect(
    await failures(
      agentOf([gone], () => 0),
      8,
    ),
  ).toEqual(Array(8).fill(500))
  const most = await failures(
    agentOf([gone], () => 1),
    8,
  )
  expect(most).toEqual([2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000, 30_000])
})

test('after a connection that lasted, the nodes of a gateway that restarts come back at times of their own', async () => {
  const gateway = await scriptedGateway(() => 'accept')
  const pauses: number[] = []
  for (const fraction of [0, 0.5, 1]) {
    const agent = agentOf([gateway.url], () => fraction)
    await agent.seen('connected', 1)
    const { connection, socket } = gateway.accepted.at(-1) as Accepted
    for (let heard = 1; heard <= 4; heard++) {
      agent.clock.advance(20_000)
      connection.sendControl({ type: 'notice', code: 'still_here' })
      await agent.seen('notice', heard)
    }
    socket.resetAndDestroy()
    pauses.push(...(await failures(agent, 1)))
  }
  expect(pauses).toEqual([500, 750, 1_000])
})

/** `gw node join` in this process. */
async function joining(url: URL, more: Partial<JoinOptions> = {}, dir = tempDir(onTestFinished)) {
  const io: NodeIo = {
    environment: { GW_JOIN_TOKEN: newJoinToken(systemRandom).token },
    cwd: dir.path,
    clock: systemClock,
    random: systemRandom,
    signal: new AbortController().signal,
    version: 'test',
    readStdin: async () => '',
    info: () => undefined,
  }
  const engine = ['http://127.0.0.1:9']
  const options = { server: [url.href], name: 'gpu-1', engine, state: 'node.json', ...more }
  const failure: unknown = await joinNode(io, options).catch((error: unknown) => error)
  return { failure, state: await readState(dir.at('node.json')) }
}

test.each([
  [401, 'used_token', 'node_rejected'],
  [403, 'other_name', 'node_rejected'],
  [409, 'joined_already', 'node_rejected'],
  [426, 'version', 'node_rejected'],
  // A service is started again after these: another exit code.
  [429, 'too_many', 'node_unreachable'],
  [503, 'unavailable', 'node_unreachable'],
])(
  '`gw node join` whose token is answered %s says so once, and stores nothing',
  async (status, code, command) => {
    const gateway = await scriptedGateway(() => rejected(status, code))
    const { failure, state } = await joining(gateway.url)
    expect(failure).toBeInstanceOf(CommandError)
    expect(failure).toMatchObject({ code: command, message: `Rejected: ${code}.` })
    expect(gateway.attempts).toHaveLength(1)
    expect(state).toBeUndefined()
  },
)

test.each<[string, Partial<JoinOptions>]>([
  ['--token-file', { tokenFile: 'none' }],
  ['--ca', { ca: 'none' }],
])('`gw node join` names a file that cannot be read: %s', async (flag, options) => {
  const gateway = await scriptedGateway(() => rejected(503, 'unavailable'))
  const { failure } = await joining(gateway.url, options)
  expect(failure).toMatchObject({
    code: 'usage',
    message: expect.stringMatching(`^${flag} cannot be read: ENOENT`),
  })
  expect(gateway.attempts).toHaveLength(0)
})

test('`gw node join` keeps the token where it could not keep the credential', async () => {
  const dir = tempDir(onTestFinished)
  dir.write('node.json.new/in-the-way', '')
  const gateway = await scriptedGateway(() => rejected(503, 'unavailable'))
  const { failure } = await joining(gateway.url, {}, dir)
  expect(failure).toMatchObject({
    code: 'usage',
    message: expect.stringContaining('node.json cannot be written: '),
    hint: expect.stringContaining('the join token was not used'),
  })
  expect(gateway.attempts).toHaveLength(0)
})

test('a node opens nothing but its engines, whatever its gateway asks for', async () => {
  // Something of this machine that is no engine.
  let reached = 0
  const other = createTcpServer(socket => {
    reached++
    socket.destroy()
  })
  other.listen(0, '127.0.0.1')
  await once(other, 'listening')
  onTestFinished(() => void other.close())
  const { port } = other.address() as AddressInfo
  const gateway = await scriptedGateway(() => 'accept')
  const agent = agentOf([gateway.url])
  await agent.seen('connected', 1)
  const { connection, hello } = gateway.accepted[0] as Accepted
  await hello
  const asked = [
    `127.0.0.1:${port}`,
    `http://127.0.0.1:${port}`,
    String(port),
    '__proto__',
    'VLLM',
    'vllm ',
    '../vllm',
  ]
  for (const engine of asked) {
    const stream = connection.open(engine)
    await new Promise(resolve => stream.once('close', resolve))
    expect(stream.errored, engine).toMatchObject({ code: 'ENOENGINE' })
  }
  expect(reached).toBe(0)
  // The machine itself gets there.
  await once(connect(port, '127.0.0.1'), 'close')
  expect(reached).toBe(1)
})
