import { createWriteStream, readFileSync } from 'node:fs'
import { Agent, createServer, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import process from 'node:process'
import { expect, it, onTestFinished } from 'vitest'
import { runAgent } from '../../src/agent/agent.ts'
import { join as joinGateway } from '../../src/agent/dial.ts'
import { systemClock } from '../../src/base/clock.ts'
import { systemRandom } from '../../src/base/random.ts'
import { gwProcess, startGw } from '../cli/process.ts'
import { freePort } from '../support/free-port.ts'
import { tempDir } from '../support/temp-dir.ts'

/**
 * Many nodes with many streams each on one gateway process: every stream is whole, also beside nodes that die, whose streams
 * end with an error. GW_NODES and GW_STREAMS change the size; `npm run nodes` is the long form. GW_BENCH_LOG keeps the log of the gateway.
 */
const NODES = Number(process.env['GW_NODES'] ?? 30)
const STREAMS = Number(process.env['GW_STREAMS'] ?? 10)
const EVENTS = 20
/** All nodes, the engine and the clients are in this process: at 4,000 streams it has no time for more than an event a second each. */
const EVENT_MS = Number(process.env['GW_EVENT_MS'] ?? 250)
const APP_KEY = 'sk-a-secret-of-their-own-0123456789'
const FILE = (engine: number) => `version: 1
settings: { nodes: { admission: token } }
endpoints:
  m: { protocol: openai, served_model: m, nodes: { labels: { pool: a }, engine: vllm } }
  direct: { protocol: openai, served_model: m, base_url: "http://127.0.0.1:${engine}/v1" }
publications:
  m: { price: { input: 1, output: 1 }, bindings: [{ endpoint: m }] }
  direct: { price: { input: 1, output: 1 }, bindings: [{ endpoint: direct }] }
keys: { app: { kind: platform, secret: { env: APP_KEY } } }
`

/** Chats without a stream, so many at a time. */
const CHATS = 2_000
const CHATS_AT_ONCE = 64
/**
 * Limit of the CPU of a stream, or a chat, through a node, as a multiple of that of a direct endpoint. One short round beside other work
 * varies by a factor of two: this finds a path that does something several times; `npm run bench:nodes` measures.
 */
const MAX_RATIO = Number(process.env['GW_NODE_RATIO'] ?? 4)

/** One engine for all nodes: a stream of events, or a chat. */
async function startEngine(): Promise<number> {
  const server = createServer((req, res) => {
    if (req.url === '/v1/models') return void res.end('{"data":[{"id":"m","owned_by":"vllm"}]}')
    if (req.url !== '/v1/chat/completions') return void res.writeHead(404).end()
    const question: Buffer[] = []
    req.on('data', (bytes: Buffer) => void question.push(bytes))
    req.on('end', () => {
      if (Buffer.concat(question).includes('"stream":true')) return stream(res)
      res.setHeader('content-type', 'application/json')
      res.end(CHAT)
    })
  })
  const stream = (res: ServerResponse): void => {
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    let sent = 0
    const timer = setInterval(() => {
      sent++
      const usage = sent === EVENTS ? ',"usage":{"prompt_tokens":3,"completion_tokens":20}' : ''
      res.write(
        `data: {"id":"c","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":"${sent} "}}]${usage}}\n\n`,
      )
      if (sent < EVENTS) return
      clearInterval(timer)
      res.end('data: [DONE]\n\n')
    }, EVENT_MS)
    res.on('close', () => clearInterval(timer))
  }
  // All nodes have this one, and open all streams at once.
  server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 })
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  await new Promise(resolve => server.once('listening', resolve))
  return (server.address() as AddressInfo).port
}

const CHAT = JSON.stringify({
  id: 'c',
  object: 'chat.completion',
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello!' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 3, completion_tokens: 20 },
})

/** User and system time of a process so far, in seconds, and its memory in MB. */
function usageOf(pid: number): { readonly cpu: number; readonly memory: number } {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  const memory = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return { cpu: (Number(fields[11]) + Number(fields[12])) / 100, memory: Number(memory) / 1_024 }
}

function outcomeOf(status: number | undefined, text: string): string {
  if (status !== 200) return `${status}`
  if (text.includes('"error"')) return text.includes('[DONE]') ? 'cut' : 'error'
  return text.split('"delta"').length === EVENTS + 1 && text.endsWith('[DONE]\n\n') ? 'whole' : 'cut'
}

it(`${NODES} nodes with ${STREAMS} streams each lose none, and those of nodes that die end with an error`, async () => {
  const dir = tempDir(onTestFinished)
  const engine = await startEngine()
  dir.write('gw.yaml', FILE(engine))
  const [port, nodePort] = [await freePort(), await freePort()]
  const listen = ['--listen', `127.0.0.1:${port}`, '--node-listen', `127.0.0.1:${nodePort}`]
  const { child } = startGw(['serve', '-c', 'gw.yaml', '--gateway-only', ...listen], {
    cwd: dir.path,
    stdin: '',
    environment: { APP_KEY },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const kept = process.env['GW_BENCH_LOG']
  if (kept !== undefined) {
    const file = createWriteStream(kept)
    for (const stream of [child.stdout, child.stderr]) stream.pipe(file, { end: false })
  }
  await new Promise<void>(resolve => {
    child.stdout.on('data', (bytes: Buffer) => bytes.toString().includes('serving revision') && resolve())
  })
  const { stdout } = await gwProcess(
    ['nodes', 'token', 'gpu-*', '--uses', String(NODES), '--label', 'pool=a'],
    {
      cwd: dir.path,
    },
  )
  const server = { url: new URL(`http://127.0.0.1:${nodePort}`) }
  const aborts: AbortController[] = []
  const ended: Promise<void>[] = []
  let connected = 0
  for (let index = 0; index < NODES; index++) {
    const { credential } = await joinGateway(server, stdout.trim(), `gpu-${index}`)
    const abort = new AbortController()
    aborts.push(abort)
    const agent = runAgent({
      servers: [server],
      credential,
      engines: [{ name: 'vllm', host: '127.0.0.1', port: engine }],
      clock: systemClock,
      random: systemRandom,
      version: 'proof',
      signal: abort.signal,
      drainMs: 0,
      onCredential: async () => undefined,
      onEvent: ({ type }) => void (type === 'connected' && connected++),
    })
    ended.push(agent.catch(() => undefined))
  }
  onTestFinished(async () => {
    for (const abort of aborts) abort.abort()
    await Promise.all(ended)
  })
  await expect.poll(() => connected, { timeout: 60_000 }).toBe(NODES)
  await new Promise(resolve => setTimeout(resolve, 1_000))

  const http = new Agent({ keepAlive: true, maxSockets: NODES * STREAMS })
  onTestFinished(() => http.destroy())
  const ask = (model: string, isStream: boolean) =>
    new Promise<string>((resolve, reject) => {
      const headers = { authorization: `Bearer ${APP_KEY}` }
      const req = request(
        { port, host: '127.0.0.1', path: '/v1/chat/completions', method: 'POST', agent: http, headers },
        res => {
          let text = ''
          res.on('data', (bytes: Buffer) => (text += bytes.toString()))
          res.on('error', () => resolve('cut'))
          res.on('end', () =>
            resolve(
              isStream
                ? outcomeOf(res.statusCode, text)
                : res.statusCode === 200
                  ? '200'
                  : `${res.statusCode} ${text}`,
            ),
          )
        },
      )
      req.on('error', reject)
      req.end(JSON.stringify({ model, stream: isStream, messages: [{ role: 'user', content: 'Hello!' }] }))
    })
  const pid = child.pid ?? 0
  /** Seconds of the gateway's CPU. */
  const round = async (model: string, during?: () => void) => {
    const before = usageOf(pid)
    const startedMs = performance.now()
    const calls = Array.from({ length: NODES * STREAMS }, () => ask(model, true))
    during?.()
    setTimeout(() => (open = usageOf(pid).memory), (EVENTS * EVENT_MS) / 2)
    let open = 0
    const outcomes = new Map<string, number>()
    for (const outcome of await Promise.all(calls)) outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
    const seconds = (performance.now() - startedMs) / 1_000
    const { cpu, memory } = usageOf(pid)
    console.log(
      `${model}: ${NODES} × ${STREAMS} streams × ${EVENTS} events: ${seconds.toFixed(1)} s, gateway ${(cpu - before.cpu).toFixed(2)} s of CPU, ${memory.toFixed(0)} MB; ${(((open - before.memory) / NODES / STREAMS) * 1_024).toFixed(0)} kB a stream`,
    )
    return { outcomes: Object.fromEntries(outcomes), cpu: cpu - before.cpu }
  }
  const chats = async (model: string) => {
    const before = usageOf(pid)
    let left = CHATS
    const worker = async (): Promise<void> => {
      while (left-- > 0) expect(await ask(model, false)).toBe('200')
    }
    await Promise.all(Array.from({ length: CHATS_AT_ONCE }, worker))
    return usageOf(pid).cpu - before.cpu
  }

  // In turns, after a first of each that compiles.
  const cpu = { m: { stream: 0, chat: 0 }, direct: { stream: 0, chat: 0 } }
  for (const isCounted of [false, true]) {
    for (const model of ['m', 'direct'] as const) {
      const streams = await round(model)
      expect(streams.outcomes).toEqual({ whole: NODES * STREAMS })
      const chat = await chats(model)
      if (!isCounted) continue
      cpu[model].stream += streams.cpu
      cpu[model].chat += chat
    }
  }
  const ratio = { stream: cpu.m.stream / cpu.direct.stream, chat: cpu.m.chat / cpu.direct.chat }
  console.log(
    `CPU through nodes ÷ direct: ${ratio.stream.toFixed(2)} a stream, ${ratio.chat.toFixed(2)} a chat (${((cpu.m.chat / CHATS) * 1e6).toFixed(0)} : ${((cpu.direct.chat / CHATS) * 1e6).toFixed(0)} µs)`,
  )
  expect(ratio.stream).toBeLessThan(MAX_RATIO)
  expect(ratio.chat).toBeLessThan(MAX_RATIO)
  // A tenth of the nodes is gone in the middle.
  const dying = Math.ceil(NODES / 10)
  const { outcomes } = await round('m', () => {
    setTimeout(
      () => {
        for (const abort of aborts.slice(0, dying)) abort.abort()
      },
      (EVENTS * EVENT_MS) / 2,
    )
  })
  // On a slow machine some have no head yet: they go elsewhere as far as the budget of retries allows.
  const { whole = 0, error = 0, 502: rejected = 0, ...others } = outcomes
  expect(others).toEqual({})
  expect(whole + error + rejected).toBe(NODES * STREAMS)
  expect(error + rejected).toBeGreaterThan(0)
  expect(error + rejected).toBeLessThan(NODES * STREAMS * 0.3)
  expect((await gwProcess(['ledger', 'verify'], { cwd: dir.path })).exit).toBe(0)
}, 300_000)
