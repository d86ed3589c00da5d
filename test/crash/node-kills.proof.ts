import { once } from 'node:events'
import { Agent } from 'node:http'
import process from 'node:process'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { gwProcess, startGw } from '../cli/process.ts'
import { freePort } from '../support/free-port.ts'
import { seeded } from '../support/seeded.ts'
import { storeOfFolder } from '../support/store-of-folder.ts'
import { tempDir } from '../support/temp-dir.ts'
import { call, type Seen } from './clients.ts'
import { readBooks } from './served.ts'

/** Each of the four is killed so often; `npm run nodes` is the long form. */
const ROUNDS = Number(process.env['GW_NODE_KILLS'] ?? 1)
const CLIENTS = 12
/** A call that has no end by then is lost. */
const LOST_MS = 30_000
const SEED = Number(process.env['GW_SEED'] ?? Date.now() % 1_000_000)
const APP_KEY = 'sk-a-secret-of-their-own-0123456789'
const FILE = `version: 1
nodes: { gpu-1: {}, gpu-2: {} }
endpoints:
  m: { protocol: openai, served_model: demo-chat, nodes: { names: [gpu-1, gpu-2], engine: demo } }
publications: { m: { price: { input: 1, output: 1 }, bindings: [{ endpoint: m }] } }
keys: { app: { kind: platform, secret: { env: APP_KEY } } }
`
const VICTIMS = ['node', 'engine', 'control plane', 'gateway'] as const
type Victim = (typeof VICTIMS)[number]

const isComplete = ({ status, whole, body }: Seen, isStream: boolean): boolean =>
  status === 200 && whole && (isStream ? body.trimEnd().endsWith('data: [DONE]') : body.includes('"usage"'))

it(
  `kill -9 of a node, its engine, the control plane and the gateway under load, ${ROUNDS} times each: every call ends, and is billed once`,
  async () => {
    const dir = tempDir(onTestFinished)
    dir.write('gw.yaml', FILE)
    const store = await storeOfFolder(dir.path)
    const world = { cwd: dir.path, environment: { APP_KEY, GW_STORE: store } }
    const random = seeded(SEED)
    const [port, controlPort, nodePort] = [await freePort(), await freePort(), await freePort()]
    const running = new Map<string, ReturnType<typeof startGw>['child']>()
    onTestFinished(() => {
      for (const child of running.values()) child.kill('SIGKILL')
    })
    const start = async (name: string, line: string, says: string | undefined, more = {}): Promise<void> => {
      const { child } = startGw(line.split(' '), {
        ...world,
        stdin: '',
        environment: { ...world.environment, ...more },
      })
      running.set(name, child)
      child.stderr.resume()
      if (says === undefined) return void child.stdout.resume()
      await new Promise<void>((resolve, reject) => {
        child.stdout.on('data', (bytes: Buffer) => bytes.toString().includes(says) && resolve())
        child.once('exit', code => reject(new Error(`${name} ended with ${code}`)))
      })
    }
    const listen = `--listen 127.0.0.1:${port} --node-listen 127.0.0.1:${nodePort}`
    const enginePorts = [await freePort(), await freePort()]
    const starts: Readonly<Record<string, () => Promise<void>>> = {
      gateway: () => start('gateway', `serve -c gw.yaml --gateway-only ${listen}`, 'serving revision'),
      'control plane': () =>
        start('control plane', `serve --control-only --control-listen 127.0.0.1:${controlPort}`, undefined),
      ...Object.fromEntries(
        enginePorts.map((enginePort, at) => [
          `engine-${at + 1}`,
          () => start(`engine-${at + 1}`, `demo-upstream --listen 127.0.0.1:${enginePort}`, undefined),
        ]),
      ),
    }
    const join = async (at: number): Promise<void> => {
      const name = `gpu-${at}`
      const state = `${name}.json`
      const token = running.has(name) ? '' : (await gwProcess(['nodes', 'token', name], world)).stdout.trim()
      const server = `--server http://127.0.0.1:${nodePort} --name ${name}`
      await start(
        name,
        `node join ${server} --engine demo=http://127.0.0.1:${enginePorts[at - 1]} --state ${state}`,
        undefined,
        { GW_JOIN_TOKEN: token },
      )
    }
    await starts['gateway']?.()
    await starts['control plane']?.()
    for (const at of [1, 2]) {
      await starts[`engine-${at}`]?.()
      await join(at)
    }

    const url = `http://127.0.0.1:${port}`
    const agent = new Agent({ keepAlive: true })
    onTestFinished(() => agent.destroy())
    const counts = { complete: 0, broken: 0, rejected: 0, unanswered: 0 }
    const completed: string[] = []
    const wrong: string[] = []
    const over = new AbortController()
    const client = async (): Promise<void> => {
      while (!over.signal.aborted) {
        const isStream = random() < 0.6
        const content = 'word '.repeat(1 + Math.floor(random() ** 3 * 40))
        const body = JSON.stringify({ model: 'm', stream: isStream, messages: [{ role: 'user', content }] })
        const sentAtMs = performance.now()
        const seen = await call(url, {
          agent,
          path: '/v1/chat/completions',
          body,
          secret: APP_KEY,
          leavesAfterMs: LOST_MS,
        })
        if (performance.now() - sentAtMs >= LOST_MS) wrong.push(`${seen.requestId} never ended`)
        if (isComplete(seen, isStream)) {
          counts.complete++
          completed.push(seen.requestId ?? '')
        } else if (seen.status === 0) {
          counts.unanswered++
          await pause(20)
        } else if (seen.status === 200) {
          counts.broken++
          // One that the gateway could end itself says why, and does not pass for complete.
          if (isStream && seen.whole && !seen.body.includes('"error"'))
            wrong.push(`${seen.requestId} without an error`)
        } else counts.rejected++
      }
    }
    const works = async () => {
      const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hello!' }] })
      return (await call(url, { agent, path: '/v1/chat/completions', body, secret: APP_KEY })).status
    }
    await expect.poll(works, { timeout: 20_000 }).toBe(200)
    const clients = Array.from({ length: CLIENTS }, client)

    for (let round = 0; round < ROUNDS * VICTIMS.length; round++) {
      const victim = VICTIMS[round % VICTIMS.length] as Victim
      const at = 1 + Math.floor(random() * 2)
      const name = victim === 'node' ? `gpu-${at}` : victim === 'engine' ? `engine-${at}` : victim
      await pause(500 + random() * 1_000)
      const child = running.get(name)
      child?.kill('SIGKILL')
      await (child && once(child, 'exit'))
      const before = counts.complete
      // The other node, or the gateway without its control plane, goes on.
      if (victim !== 'gateway')
        await expect.poll(() => counts.complete, { timeout: 20_000 }).toBeGreaterThan(before + 5)
      if (victim === 'node') await join(at)
      else await starts[name]?.()
      await expect.poll(works, { timeout: 40_000 }).toBe(200)
    }
    over.abort()
    await Promise.all(clients)
    const gateway = running.get('gateway')
    gateway?.kill('SIGTERM')
    await (gateway && once(gateway, 'exit'))

    console.log(`${ROUNDS} kills of each: ${JSON.stringify(counts)}, seed ${SEED}`)
    expect(wrong, `seed ${SEED}`).toEqual([])
    expect((await gwProcess(['ledger', 'verify'], world)).exit).toBe(0)
    const { booked, open } = await readBooks(store)
    expect(open).toBe(0)
    const unbilled = completed.filter(id => booked.get(id)?.ends[0]?.kind !== 'settle')
    expect(unbilled, `seed ${SEED}: complete, and not billed`).toEqual([])
    expect(counts.complete).toBeGreaterThan(ROUNDS * VICTIMS.length * 5)
  },
  120_000 + ROUNDS * 120_000,
)
