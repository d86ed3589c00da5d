import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net'
import process from 'node:process'
import { Client } from 'undici'
import { expect, it } from 'vitest'
import { type Memory, memoryInUse } from '../support/memory.ts'
import { seeded } from '../support/seeded.ts'
import { type Carrier, carriers, endOf, fastClock, toEngines } from './pair.ts'

/** `npm run tunnel` runs 3,000 rounds. */
const ROUNDS = Number(process.env['GW_TUNNEL_ROUNDS'] ?? 60)
const CALLS = 20
/** A call that has not ended by then is lost. */
const LOST_MS = 10_000
/** What may be in use more after two thirds of the rounds. */
const MAX_GROWTH_BYTES = 8_388_608
/** 30 seconds without a byte take 300 ms. */
const TIMES = 100

const FAULTS = ['none', 'cut', 'reset', 'half-close', 'stall', 'garbage'] as const
type Fault = (typeof FAULTS)[number]
/** `GW_TUNNEL_CARRIER` chooses one. */
const KINDS = (process.env['GW_TUNNEL_CARRIER'] ?? 'tcp,tls,websocket').split(',')

const digest = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')

/** Answers with the digest of the question, its length, and events in pieces: a wrong or short answer is noticed. */
async function startEngine() {
  const answer = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const pieces: Buffer[] = []
    for await (const piece of req) pieces.push(piece as Buffer)
    const question = Buffer.concat(pieces)
    const [, count = '1', framing] = /^\/(\d+)\/(\w+)/.exec(req.url ?? '') ?? []
    const body = Buffer.from(`data: ${digest(question)}\n\n`.repeat(Number(count)))
    res.setHeader('x-digest', digest(body))
    if (framing === 'length') return void res.setHeader('content-length', body.length).end(body)
    if (framing === 'close') res.shouldKeepAlive = false
    for (let at = 0; at < body.length; at += 5_000) {
      res.write(body.subarray(at, at + 5_000))
      if (at % 25_000 === 0) await new Promise(setImmediate)
    }
    res.end()
  }
  // A question that breaks off has no answer.
  const server = createServer((req, res) => void answer(req, res).catch(() => res.destroy()))
  server.listen(0, '127.0.0.1')
  server.on('connection', socket => socket.on('error', () => undefined))
  await once(server, 'listening')
  return { server, port: (server.address() as AddressInfo).port }
}

/** More than the handshake of TLS: what fails before a connection is there is not the tunnel's. */
const LEAST_BYTES = 10_000

/** Passes bytes until `afterBytes` have passed in both directions together, then does `fault`. */
async function startNetwork(to: number, fault: Fault, afterBytes: number, random: () => number) {
  const sockets: Socket[] = []
  let passed = 0
  let isBroken = false
  const server = createTcpServer({ allowHalfOpen: true }, near => {
    const far = connect({ port: to, host: '127.0.0.1', allowHalfOpen: true })
    sockets.push(near, far)
    const pass = (from: Socket, into: Socket): void => {
      from.on('error', () => undefined)
      from.on('end', () => into.end())
      from.on('close', () => into.destroy())
      from.on('data', (bytes: Buffer) => {
        passed += bytes.length
        if (!isBroken && fault !== 'none' && passed >= afterBytes) {
          isBroken = true
          const kept = bytes.subarray(0, Math.floor(random() * bytes.length))
          if (kept.length > 0) into.write(kept)
          return breakOff(from, into)
        }
        if (!into.destroyed && !into.write(bytes)) from.pause()
      })
      into.on('drain', () => {
        if (!(isBroken && fault === 'stall')) from.resume()
      })
    }
    const breakOff = (from: Socket, into: Socket): void => {
      if (fault === 'cut') for (const socket of [from, into]) socket.destroy()
      if (fault === 'reset') for (const socket of [from, into]) socket.resetAndDestroy()
      if (fault === 'half-close') into.end()
      if (fault === 'stall') for (const socket of [from, into]) socket.pause()
      if (fault === 'garbage') into.write(randomBytes(1 + Math.floor(random() * 4_000)))
    }
    pass(near, far)
    pass(far, near)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

interface Outcome {
  readonly isComplete: boolean
  readonly isRight: boolean
  readonly isLost: boolean
}

async function call(client: Client, path: string, body: Buffer): Promise<Outcome> {
  let timer: NodeJS.Timeout | undefined
  const lost = new Promise<Outcome>(resolve => {
    timer = setTimeout(() => resolve({ isComplete: false, isRight: false, isLost: true }), LOST_MS)
  })
  const answered = (async (): Promise<Outcome> => {
    try {
      const answer = await client.request({ path, method: 'POST', body })
      const bytes = await answer.body.bytes()
      return { isComplete: true, isRight: digest(bytes) === answer.headers['x-digest'], isLost: false }
    } catch {
      return { isComplete: false, isRight: false, isLost: false }
    }
  })()
  try {
    return await Promise.race([answered, lost])
  } finally {
    clearTimeout(timer)
  }
}

it(`ends every call, and takes none for complete that is not, in ${ROUNDS} broken connections`, {
  timeout: 3_600_000,
}, async () => {
  const seed = Number(process.env['GW_SEED'] ?? Math.floor(Math.random() * 2 ** 31))
  const random = seeded(seed)
  const engine = await startEngine()
  const listeners = {
    tcp: await carriers('tcp'),
    tls: await carriers('tls'),
    websocket: await carriers('websocket'),
  }
  let first: Memory | undefined
  const counts = { complete: 0, broken: 0 }
  for (let round = 0; round < ROUNDS; round++) {
    const kind = KINDS[Math.floor(random() * KINDS.length)] as Carrier
    const fault = FAULTS[Math.floor(random() * FAULTS.length)] as Fault
    const about = `seed ${seed}, round ${round}: ${fault} over ${kind}`
    const network = await startNetwork(
      listeners[kind].port,
      fault,
      LEAST_BYTES + random() ** 2 * 4_000_000,
      random,
    )
    const sockets = await listeners[kind].dial(network.port)
    const clock = fastClock(TIMES)
    const gateway = endOf(sockets.gateway, { side: 'gateway', clock })
    const node = endOf(sockets.node, { side: 'node', clock }, toEngines({ vllm: engine.port }))
    const clients: Client[] = []
    await Promise.race([gateway.hello, gateway.closed])
    const outcomes = await Promise.all(
      Array.from({ length: CALLS }, () => {
        const client = new Client('http://localhost', {
          connect: (_options, done) =>
            queueMicrotask(() => {
              try {
                done(null, gateway.connection.open('vllm') as never)
              } catch (error) {
                done(error as Error, null)
              }
            }),
        })
        clients.push(client)
        const framing = ['length', 'chunks', 'close'][Math.floor(random() * 3)]
        const question = Buffer.alloc(Math.floor(random() ** 3 * 200_000), 'q')
        return call(client, `/${Math.floor(random() ** 2 * 5_000)}/${framing}`, question)
      }),
    )
    expect(
      outcomes.filter(({ isLost }) => isLost),
      `${about}: calls that never ended`,
    ).toEqual([])
    // Bytes that are changed under plain TCP pass unnoticed; TLS notices them.
    if (fault !== 'garbage' || kind === 'tls') {
      const wrong = outcomes.filter(({ isComplete, isRight }) => isComplete && !isRight)
      expect(wrong, `${about}: wrong answers`).toEqual([])
    }
    if (fault === 'none')
      expect(
        outcomes.every(({ isComplete }) => isComplete),
        `${about}: a call failed`,
      ).toBe(true)
    counts.complete += outcomes.filter(({ isComplete }) => isComplete).length
    counts.broken += outcomes.filter(({ isComplete }) => !isComplete).length
    await Promise.all(clients.map(client => client.destroy()))
    gateway.connection.close('the round is over')
    await Promise.all([gateway.closed, node.closed])
    expect([gateway.connection.streams, node.connection.streams], about).toEqual([0, 0])
    network.close()
    for (const socket of [sockets.gateway, sockets.node]) socket.destroy()
    if (round === Math.floor(ROUNDS / 3)) first = memoryInUse()
  }
  const last = memoryInUse()
  console.log(
    `${ROUNDS} rounds: ${counts.complete} answers complete, ${counts.broken} broken off, none lost; bytes: ${JSON.stringify(first)} after a third, ${JSON.stringify(last)} at last`,
  )
  expect(last.objects - (first?.objects ?? 0)).toBeLessThan(MAX_GROWTH_BYTES)
  expect(counts.complete).toBeGreaterThan(ROUNDS)
  expect(counts.broken).toBeGreaterThan(ROUNDS)
  for (const listener of Object.values(listeners)) listener.close()
  await expect
    .poll(() => new Promise(resolve => engine.server.getConnections((_error, count) => resolve(count))))
    .toBe(0)
  engine.server.close()
})
