import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { type Reply, reply } from '../support/answers.ts'
import { certificate } from '../support/certificate.ts'
import { freePort } from '../support/free-port.ts'
import { gate } from '../support/gate.ts'
import { type ScriptedUpstream, scriptedUpstream } from '../support/scripted-upstream.ts'
import { type TempDir, tempDir } from '../support/temp-dir.ts'
import { gwProcess, startNode } from './process.ts'

/** `gw serve` and `gw node join` as processes of their own, and scripted engines. */

const GW = fileURLToPath(new URL('../../bin/gw.js', import.meta.url))
const SINGLE_FILE = fileURLToPath(new URL('../../dist/node/gw-node.mjs', import.meta.url))
const APP_KEY = 'sk-a-secret-of-their-own-0123456789'
const FILE = `version: 1
nodes:
  gpu-1: { labels: { pool: a } }
  gpu-2: { labels: { pool: a } }
endpoints:
  qwen: { protocol: openai, served_model: m, nodes: { labels: { pool: a }, engine: vllm } }
publications:
  qwen: { price: { input: 1, output: 1 }, bindings: [{ endpoint: qwen }] }
keys: { app: { kind: platform, secret: { env: APP_KEY } } }
`
const SSE = { 'content-type': 'text/event-stream' }
const chunk = (text: string) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', model: 'm', choices: [{ index: 0, delta: { content: text } }] })}\n\n`
const ANSWER: Reply = {
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({
    id: 'c',
    object: 'chat.completion',
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: 'hi' } }],
    usage: { prompt_tokens: 3, completion_tokens: 2 },
  }),
}

async function engine(calls: () => Reply): Promise<ScriptedUpstream> {
  const upstream = await scriptedUpstream(onTestFinished)
  upstream.answer(exchange => {
    const { target } = exchange.request
    if (target === '/metrics') return reply({ status: 404 })(exchange)
    if (target !== '/v1/models') return reply(calls())(exchange)
    const body = JSON.stringify({ data: [{ id: 'm', owned_by: 'vllm' }] })
    return reply({ headers: { 'content-type': 'application/json' }, body })(exchange)
  })
  return upstream
}

/** A process of gw, and what it has printed. */
function running(argv: readonly string[], cwd: string, stdin = '', script = GW) {
  const { child, ended } = startNode(script, argv, { cwd, stdin, environment: { APP_KEY } })
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await ended
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (piece: Buffer) => {
      text += piece.toString()
    })
  return {
    child,
    ended,
    printed: async (part: string, from = 0): Promise<number> => {
      for (;;) {
        const at = text.indexOf(part, from)
        if (at >= 0) return at + part.length
        await Promise.race([
          once(child.stdout, 'data'),
          once(child.stderr, 'data'),
          ended.then(() => {
            throw new Error(`ended without "${part}": ${text}`)
          }),
        ])
      }
    },
  }
}

async function scene(tls: readonly string[] = []) {
  const dir = tempDir(onTestFinished)
  dir.write('gw.yaml', FILE)
  const [port, nodePort] = [await freePort(), await freePort()]
  const serve = async () => {
    const listen = [
      '--gateway-only',
      '--listen',
      `127.0.0.1:${port}`,
      '--node-listen',
      `127.0.0.1:${nodePort}`,
      ...tls,
    ]
    const gateway = running(['serve', '-c', 'gw.yaml', ...listen], dir.path)
    await gateway.printed('serving revision')
    return gateway
  }
  const gateway = await serve()
  return {
    dir,
    gateway,
    nodePort,
    serve,
    node: (name: string, upstream: ScriptedUpstream) => joined(dir, nodePort, name, upstream),
    call: (more: object = {}) =>
      fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${APP_KEY}` },
        body: JSON.stringify({ model: 'qwen', messages: [{ role: 'user', content: 'Hello!' }], ...more }),
      }),
  }
}

async function joined(dir: TempDir, nodePort: number, name: string, upstream: ScriptedUpstream) {
  const { stdout: token } = await gwProcess(['nodes', 'token', name], { cwd: dir.path })
  expect(token).toMatch(/^gwj_[\w-]{43}\n$/)
  const node = running(
    `node join --server http://127.0.0.1:${nodePort} --name ${name} --token-file - --engine ${upstream.url} --state ${name}.json`.split(
      ' ',
    ),
    dir.path,
    token,
  )
  await node.printed('vllm is up with m')
  await node.printed('is connected')
  return node
}

const json = async (argv: readonly string[], dir: TempDir) => {
  const { stdout } = await gwProcess([...argv, '--format', 'json'], { cwd: dir.path })
  return JSON.parse(stdout) as Record<string, unknown>
}

test('token, join, call, restart of the gateway, SIGTERM of the node, leave', async () => {
  const upstream = await engine(() => ANSWER)
  const { dir, gateway, serve, node, call } = await scene()
  const gpu = await node('gpu-1', upstream)
  await expect.poll(async () => (await call()).status).toBe(200)
  expect(await json(['nodes', 'show', 'gpu-1'], dir)).toMatchObject({
    state: 'connected',
    engines: [{ name: 'vllm', state: 'up', kind: 'vllm', models: ['m'] }],
  })

  // Killed, and started again at its address: the node comes back by itself.
  gateway.child.kill('SIGKILL')
  await gateway.ended
  const seen = await gpu.printed('Disconnected')
  await serve()
  await gpu.printed('is connected', seen)
  await expect.poll(async () => (await call()).status).toBe(200)

  gpu.child.kill('SIGTERM')
  expect(await gpu.ended).toMatchObject({ exit: 0 })
  expect((await call()).status).toBe(503)
  expect((await gwProcess(['node', 'leave', '--state', 'gpu-1.json'], { cwd: dir.path })).exit).toBe(0)
  expect(await json(['nodes', 'list'], dir)).toMatchObject({ data: [] })
  expect(await json(['node', 'status', '--state', 'gpu-1.json'], dir)).toEqual({ joined: false })
}, 60_000)

test('a node that is killed: failover before the first byte, an error event after it', async () => {
  const never = gate()
  const dying = await engine(() => ({ headers: SSE, body: [chunk('a'), never] }))
  const living = await engine(() => ANSWER)
  const { dir, node, call } = await scene()
  const one = await node('gpu-1', dying)
  await expect
    .poll(async () => {
      const probe = await call({ stream: true })
      await probe.body?.cancel()
      return probe.status
    })
    .toBe(200)
  const stream = await call({ stream: true })
  const reader = stream.body?.getReader()
  const begun = await reader?.read()
  expect(String(Buffer.from(begun?.value ?? []))).toContain('"a"')

  // Calls that wait for their first byte when the node dies.
  const waits = gate()
  dying.answer(async exchange => {
    waits.open()
    await exchange.request.gone
  })
  await node('gpu-2', living)
  const calls = Array.from({ length: 16 }, () => call())
  await waits.opened
  one.child.kill('SIGKILL')
  for (const answer of await Promise.all(calls)) {
    expect(answer.status).toBe(200)
    expect(await answer.json()).toMatchObject({ model: 'qwen', choices: [{ message: { content: 'hi' } }] })
  }

  let rest = ''
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined }
    if (done) break
    rest += String(Buffer.from(value ?? []))
  }
  expect(rest).toContain('"error"')
  expect(rest).not.toContain('[DONE]')
  expect((await gwProcess(['ledger', 'verify'], { cwd: dir.path })).exit).toBe(0)
}, 60_000)

test('a revoked node ends with 4, and does not come back', async () => {
  const upstream = await engine(() => ANSWER)
  const { dir, node } = await scene()
  const gpu = await node('gpu-1', upstream)
  expect((await gwProcess(['nodes', 'revoke', 'gpu-1'], { cwd: dir.path })).exit).toBe(0)
  const { exit, stderr } = await gpu.ended
  expect({ exit, stderr }).toEqual({ exit: 4, stderr: expect.stringContaining('was revoked') })
  const again = await gwProcess(['node', 'join', '--engine', upstream.url, '--state', 'gpu-1.json'], {
    cwd: dir.path,
  })
  expect(again).toMatchObject({ exit: 4, stderr: expect.stringContaining('GW7003') })
}, 60_000)

test('the single file joins over TLS with a client certificate, and gets no further without one', async () => {
  const authority = certificate({ names: ['authority'], isAuthority: true })
  const server = certificate({ names: ['127.0.0.1'], issuer: authority })
  const client = certificate({ names: ['gpu-1'], issuer: authority })
  const foreign = certificate({ names: ['other'], isAuthority: true })
  const pem = tempDir(onTestFinished)
  const at = (name: string, text: string) => pem.write(name, text)
  const ca = at('ca.pem', authority.cert)
  const upstream = await engine(() => ANSWER)
  const { dir, nodePort, call } = await scene(
    `--node-tls-cert ${at('cert.pem', server.cert)} --node-tls-key ${at('key.pem', server.key)} --node-client-ca ${ca}`.split(
      ' ',
    ),
  )
  const { stdout: token } = await gwProcess(['nodes', 'token', 'gpu-1'], { cwd: dir.path })
  const own = `--cert ${at('own.pem', client.cert)} --key ${at('own.key', client.key)}`
  const join = (trust: string) =>
    running(
      `join --server https://127.0.0.1:${nodePort} --name gpu-1 --token-file - --engine ${upstream.url} --state gpu-1.json ${trust}`.split(
        ' ',
      ),
      dir.path,
      token,
      SINGLE_FILE,
    )
  for (const trust of [`--ca ${ca}`, `--ca ${at('foreign.pem', foreign.cert)} ${own}`]) {
    const { exit, stderr } = await join(trust).ended
    expect({ exit, stderr }).toEqual({ exit: 1, stderr: expect.stringContaining('GW7002') })
  }
  const node = join(`--ca ${ca} ${own}`)
  await node.printed('is connected')
  await expect.poll(async () => (await call()).status).toBe(200)
  node.child.kill('SIGTERM')
  expect(await node.ended).toMatchObject({ exit: 0 })
}, 60_000)

test('the single file has no packages', () => {
  const imports = [...readFileSync(SINGLE_FILE, 'utf8').matchAll(/from\s*"([^"]+)"|import\("([^"]+)"\)/g)]
  expect(imports.map(([, name, lazy]) => name ?? lazy).filter(name => !name?.startsWith('node:'))).toEqual([])
  expect(imports.length).toBeGreaterThan(5)
})
