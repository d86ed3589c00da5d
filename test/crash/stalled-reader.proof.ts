import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { join as joinGateway } from '../../src/agent/dial.ts'
import { gwProcess, startGw } from '../cli/process.ts'
import { freePort } from '../support/free-port.ts'
import { runNode } from '../support/running-node.ts'
import { tempDir } from '../support/temp-dir.ts'

/** Answers that are not read, and streams beside them on the same node. */
const STALLED = 3
const OTHERS = 20
const OTHER_EVENTS = 20
const PIECE = 'x'.repeat(16_000)
const PIECES = 4_096
/** Of the gateway, beside buffers of sockets, while the answers of {@link STALLED} readers wait: 192 MB in all. */
const MAX_GROWTH_MB = 64
const APP_KEY = 'sk-a-secret-of-their-own-0123456789'
const FILE = `version: 1
nodes: { gpu-1: {} }
endpoints:
  m: { protocol: openai, served_model: m, nodes: { names: [gpu-1], engine: vllm } }
publications: { m: { price: { input: 1, output: 1 }, bindings: [{ endpoint: m }] } }
keys: { app: { kind: platform, secret: { env: APP_KEY } } }
`

const event = (content: string): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', model: 'm', choices: [{ index: 0, delta: { content } }] })}\n\n`

/** 64 MB for those who ask for them, else a few events; and how many pieces of the long answers it could hand over. */
async function startEngine() {
  const sent = { pieces: 0 }
  const long = (res: ServerResponse): void => {
    let left = PIECES
    const text = event(PIECE)
    const write = (): void => {
      while (left > 0) {
        left--
        sent.pieces++
        if (!res.write(text)) return void res.once('drain', write)
      }
      res.end('data: [DONE]\n\n')
    }
    write()
  }
  const server = createServer((req, res) => {
    if (req.url === '/v1/models') return void res.end('{"data":[{"id":"m","owned_by":"vllm"}]}')
    if (req.url !== '/v1/chat/completions') return void res.writeHead(404).end()
    let question = ''
    req.on('data', (bytes: Buffer) => (question += bytes.toString()))
    req.on('end', () => {
      res.writeHead(200, { 'content-type': 'text/event-stream' })
      if (question.includes('everything')) return long(res)
      for (let index = 0; index < OTHER_EVENTS; index++) res.write(event(`${index}`))
      res.end('data: [DONE]\n\n')
    })
  })
  server.listen(0, '127.0.0.1')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  await once(server, 'listening')
  return { sent, port: (server.address() as AddressInfo).port }
}

function residentMb(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024
}

/** Reads to the end. */
async function contentOf(res: IncomingMessage) {
  let events = 0
  let tail = ''
  for await (const bytes of res as AsyncIterable<Buffer>) {
    const text = tail + bytes.toString()
    events += text.split('"delta"').length - 1
    // A word that is divided between two reads counts once.
    const from = text.lastIndexOf('"delta"')
    tail = text.slice(Math.max(from < 0 ? 0 : from + 7, text.length - 20))
  }
  return { status: res.statusCode, events, isWhole: tail.endsWith('data: [DONE]\n\n') }
}

it('readers of 64 MB that stand still hold up neither the other streams of the node nor the memory of the gateway', async () => {
  const dir = tempDir(onTestFinished)
  dir.write('gw.yaml', FILE)
  const engine = await startEngine()
  const [port, nodePort] = [await freePort(), await freePort()]
  const listen = ['--listen', `127.0.0.1:${port}`, '--node-listen', `127.0.0.1:${nodePort}`]
  const { child } = startGw(['serve', '-c', 'gw.yaml', '--gateway-only', ...listen], {
    cwd: dir.path,
    stdin: '',
    environment: { APP_KEY },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  child.stderr.resume()
  await new Promise<void>(resolve => {
    child.stdout.on('data', (bytes: Buffer) => bytes.toString().includes('serving revision') && resolve())
  })
  const { stdout } = await gwProcess(['nodes', 'token', 'gpu-1'], { cwd: dir.path })
  const url = `http://127.0.0.1:${nodePort}`
  const { credential } = await joinGateway({ url: new URL(url) }, stdout.trim(), 'gpu-1')
  runNode(url, onTestFinished, credential, [{ name: 'vllm', host: '127.0.0.1', port: engine.port }])

  const ask = (content: string): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${APP_KEY}` }
      const path = '/v1/chat/completions'
      const req = request({ port, host: '127.0.0.1', path, method: 'POST', agent: false, headers }, resolve)
      req.on('error', reject)
      req.end(JSON.stringify({ model: 'm', stream: true, messages: [{ role: 'user', content }] }))
    })
  const others = () =>
    Promise.all(Array.from({ length: OTHERS }, async () => contentOf(await ask('a little'))))
  const whole = { status: 200, events: OTHER_EVENTS, isWhole: true }
  await expect.poll(async () => (await contentOf(await ask('a little'))).status).toBe(200)
  expect(await others()).toEqual(Array.from({ length: OTHERS }, () => whole))

  const pid = child.pid ?? 0
  const beforeMb = residentMb(pid)
  // Heads are read, bodies are not.
  const stalled = await Promise.all(Array.from({ length: STALLED }, () => ask('everything')))
  let before: number
  do {
    before = engine.sent.pieces
    expect(await others()).toEqual(Array.from({ length: OTHERS }, () => whole))
  } while (engine.sent.pieces > before)
  // The engine has to wait, too.
  expect(engine.sent.pieces).toBeLessThan(STALLED * PIECES)
  expect(residentMb(pid) - beforeMb).toBeLessThan(MAX_GROWTH_MB)

  // Nothing is lost, also not for those who go on reading.
  const late = await Promise.all(stalled.map(contentOf))
  expect(late).toEqual(stalled.map(() => ({ status: 200, events: PIECES, isWhole: true })))
})
