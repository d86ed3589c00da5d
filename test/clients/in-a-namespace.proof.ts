import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { gwProcess, startGw, startNode } from '../cli/process.ts'
import { freePort } from '../support/free-port.ts'
import { hasNat, type NetworkNamespace, networkBehindNat } from '../support/network-namespace.ts'
import { tempDir } from '../support/temp-dir.ts'
import type { WhenOver } from '../support/when-over.ts'
import { EXAMPLE_CONFIG } from '../support/whole-gateway.ts'
import { CALLS } from './calls.ts'
import { type Door, GENERATIONS } from './door.ts'

/**
 * A node as a process behind a router that translates its address and lets no connection in: both SDKs, and bodies of 20 MB that are
 * the same as those of an endpoint that the gateway reaches itself. Skipped without network namespaces and `nft`.
 */
const GW = fileURLToPath(new URL('../../bin/gw.js', import.meta.url))
const BODY_BYTES = 20_000_000

/** Answers with the digest of the question, a body of 20 MB, and odd header lines; streams it if asked to. */
const ENGINE = `
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
createServer(async (req, res) => {
  if (req.url === '/v1/models') return void res.end('{"data":[{"id":"big","owned_by":"vllm"}]}')
  const hash = createHash('sha256')
  let head = ''
  for await (const piece of req) { hash.update(piece); if (head.length < 300) head += piece }
  const isStream = head.includes('"stream":true')
  res.writeHead(200, ['content-type', isStream ? 'text/event-stream' : 'application/json', 'X-Twice', '1', 'x-tWICE', '2'])
  const content = hash.digest('hex') + ' ' + 'påté '.repeat(${BODY_BYTES / 6})
  const choice = isStream ? { index: 0, delta: { content } } : { index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }
  const body = JSON.stringify({ id: 'c', object: isStream ? 'chat.completion.chunk' : 'chat.completion', created: 1, model: 'big', choices: [choice], usage: { prompt_tokens: 3, completion_tokens: 2 } })
  res.end(isStream ? 'data: ' + body + '\\n\\ndata: [DONE]\\n\\n' : body)
}).listen(Number(process.argv[2]), '127.0.0.1')
`

describe.runIf(hasNat)('a node behind NAT', () => {
  let door: Omit<Door, 'sdks'>
  let network: NetworkNamespace
  let cwd: string

  /** Vitest takes no hooks from within a hook. */
  const endings: Parameters<WhenOver>[0][] = []
  const whenOver: WhenOver = end => void endings.push(end)
  afterAll(async () => {
    for (const end of endings.reverse()) await end()
  })

  beforeAll(async () => {
    const dir = tempDir(whenOver)
    cwd = dir.path
    const [port, nodePort, directPort] = [await freePort(), await freePort(), await freePort()]
    for (const name of readdirSync(EXAMPLE_CONFIG)) {
      const text = readFileSync(join(EXAMPLE_CONFIG, name), 'utf8')
      dir.write(
        `config/${name}`,
        text.replace(/^ {2}base_url: .*$/m, '  nodes: { names: [gpu-1], engine: demo }'),
      )
    }
    dir.write(
      'config/nodes.yaml',
      `version: 1
nodes: { gpu-1: {} }
endpoints:
  big-node: { protocol: openai, served_model: big, nodes: { names: [gpu-1], engine: big } }
  big-direct: { protocol: openai, served_model: big, base_url: "http://127.0.0.1:${directPort}/v1" }
publications:
  big-node: { price: { input: 1 }, bindings: [{ endpoint: big-node }] }
  big-direct: { price: { input: 1 }, bindings: [{ endpoint: big-direct }] }
`,
    )
    dir.write('engine.mjs', ENGINE)
    network = networkBehindNat(whenOver)
    const listen = `--listen 127.0.0.1:${port} --node-listen ${network.outsideAddress}:${nodePort}`
    const world = { cwd: dir.path, stdin: '' }
    const { child } = startGw(`serve -c config --gateway-only ${listen}`.split(' '), world)
    whenOver(() => void child.kill('SIGKILL'))
    await new Promise<void>(resolve => {
      child.stdout.on('data', (bytes: Buffer) => bytes.toString().includes('serving revision') && resolve())
    })
    const direct = startNode(dir.at('engine.mjs'), [String(directPort)], world)
    whenOver(() => void direct.child.kill('SIGKILL'))
    const { stdout: token } = await gwProcess(['nodes', 'token', 'gpu-1'], { cwd: dir.path })
    const { stdout: key } = await gwProcess(['keys', 'issue', 'platform-test'], { cwd: dir.path })
    network.run([GW, 'demo-upstream', '--listen', '127.0.0.1:9101'], dir.path)
    network.run(['engine.mjs', '9102'], dir.path)
    const server = `--server http://${network.outsideAddress}:${nodePort} --allow-plaintext --name gpu-1`
    const engines = '--engine demo=http://127.0.0.1:9101 --engine big=http://127.0.0.1:9102'
    network.run([GW, ...`node join ${server} ${engines} --state node.json`.split(' ')], dir.path, {
      GW_JOIN_TOKEN: token.trim(),
    })
    door = {
      url: `http://127.0.0.1:${port}`,
      key: key.trim(),
      models: {
        chat: 'chat',
        messages: 'claude-demo',
        embedding: 'text-embedding-demo',
        rerank: 'rerank-demo',
      },
    }
    for (const model of ['chat', 'big-node'])
      while ((await ask(model, 'Hello!')).status !== 200) await pause(200)
  }, 180_000)

  const ask = (model: string, content: string, stream = false) =>
    fetch(`${door.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${door.key}` },
      body: JSON.stringify({ stream, model, messages: [{ role: 'user', content }] }),
    })

  test('the gateway sees the router, and nothing from outside reaches the machine', async () => {
    const { stdout } = await gwProcess(['nodes', 'show', 'gpu-1', '--format', 'json'], { cwd })
    expect(JSON.parse(stdout)).toMatchObject({ address: network.seenAddress })
    for (const host of [network.address, network.seenAddress])
      expect(await outcomeOfConnecting(host, 9101), host).toBe('no answer')
  })

  for (const sdks of GENERATIONS)
    for (const call of CALLS)
      test(`${call.title}, with the SDKs of the ${sdks.generation}`, () => call.run({ ...door, sdks }))

  test.each([false, true])(
    'bodies of 20 MB are the same as of a direct endpoint; streamed: %s',
    async isStream => {
      const content = 'ça '.repeat(BODY_BYTES / 4)
      const answers = []
      for (const model of ['big-node', 'big-direct']) {
        const answer = await ask(model, content, isStream)
        const text = await answer.text()
        expect(answer.status, text.slice(0, 300)).toBe(200)
        expect(text.length).toBeGreaterThan(BODY_BYTES / 2)
        const digest = createHash('sha256').update(text.replaceAll(model, 'M')).digest('hex')
        answers.push({
          digest,
          twice: answer.headers.get('x-twice'),
          type: answer.headers.get('content-type'),
        })
      }
      expect(answers[0]).toEqual(answers[1])
    },
    60_000,
  )
})

/** A packet that a router drops has no answer. */
function outcomeOfConnecting(host: string, port: number): Promise<string> {
  const socket = connect({ host, port })
  return new Promise<string>(resolve => {
    socket.setTimeout(1_000, () => resolve('no answer'))
    socket.on('connect', () => resolve('connected'))
    socket.on('error', ({ message }) => resolve(message))
  }).finally(() => socket.destroy())
}
