import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { Agent } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'vitest'
import { json, sse } from '../support/answers.ts'
import { seeded } from '../support/seeded.ts'
import { call } from './clients.ts'
import { EVENTS, EXACT_NANO, isComplete, OTHER_KEYS, PATH, SECRET, scene, textOf, USAGE } from './scene.ts'

const CLIENTS_OF_EACH_KEY = 4
export const SEED = Number(process.env['GW_SEED'] ?? Date.now() % 1_000_000)

/** A call holds exactly what it costs: then a limit admits a number of calls, and one more is one too many. */
const BODY_BYTES = 300
const TOKENS = USAGE.prompt_tokens + USAGE.completion_tokens
const RATE = { limit: 600, burst: 20 }
const CONCURRENCY = 3
const MINUTE_MS = 60_000

const money = (calls: number) =>
  `${(BigInt(calls) * EXACT_NANO) / 1_000n}`.padStart(7, '0').replace(/(.{6})$/, '.$1')

const limited =
  (calls: number, per: 'day' | 'month') =>
  (upstreamUrl: string): string =>
    `
version: 1
endpoints: { oai: { protocol: openai, base_url: "${upstreamUrl}/v1", served_model: served, skip_probe: true } }
publications: { m: { price: { input: "1", output: "10" }, bindings: [{ endpoint: oai }] } }
tenants: { acme: {}, paid: { billing: prepaid } }
keys:
  app: { kind: tenant, tenant: acme, secret: { env: APP_KEY } }
  quota: { kind: tenant, tenant: acme, secret: { env: QUOTA_KEY }, quota: ${calls * TOKENS} }
  budget: { kind: tenant, tenant: acme, secret: { env: BUDGET_KEY }, budget: { amount: "${money(calls)}", per: ${per} } }
  rate:
    kind: tenant
    tenant: acme
    secret: { env: RATE_KEY }
    limits: { rpm: { limit: ${RATE.limit}, burst: ${RATE.burst} } }
  permits: { kind: tenant, tenant: acme, secret: { env: PERMITS_KEY }, limits: { concurrency: ${CONCURRENCY} } }
  paid: { kind: tenant, tenant: paid, secret: { env: PAID_KEY } }
`

export interface Running {
  readonly child: ChildProcess
  readonly url: string
  /** Clients do not choose it. */
  isStopped?: boolean
}

/** What a test does to the gateways while they are under load. */
export interface Load {
  readonly path: string
  readonly random: () => number
  readonly gateways: Running[]
  /** Starts one in the place of a gateway. */
  readonly serve: (index: number) => Promise<Running>
  /** Runs a command on the store. */
  readonly run: (argv: readonly string[]) => Promise<{ readonly exit: unknown; readonly stdout: string }>
  /** How many answers are complete. */
  readonly completed: () => number
  /** Sends a call of a key without limits. @returns whether its answer is complete. */
  readonly callOnce: (gateway: Running) => Promise<boolean>
}

/** The books of a store. */
export interface Books {
  /** By request id: what each call that has ended was charged. */
  readonly charges: ReadonlyMap<string, { readonly nano: bigint; readonly flags: string }>
  readonly open: number
  readonly keys: ReadonlyMap<string, { readonly tokens: number; readonly nano: number }>
  /** The admissions of the key `rate`, in order. */
  readonly rateTimes: readonly number[]
  readonly leftShares: unknown
}

export interface LoadOptions {
  readonly gateways: number
  /** How many answers must be complete: 200, where calls fail only now and then. */
  readonly least?: number
  /** How many calls quota, budget and balance are enough for. */
  readonly calls: number
  /** The window of the budget; by default a month. */
  readonly per?: 'day'
  /** Absent: a file. */
  readonly storeUrl?: string
  /** The store and the environment of one gateway, where they differ from those of the others. */
  readonly gateway?: (index: number) => {
    readonly storeUrl?: string
    readonly environment?: Readonly<Record<string, string>>
  }
  /** Streams of the user `HELD` end when it resolves. */
  readonly held?: Promise<void>
  readonly readBooks: (path: string) => Books | Promise<Books>
}

/** Calls of all keys at random gateways meanwhile, then the books. @param disturb Ends with the load. */
export async function limitsUnderLoad(
  { gateways: count, calls: CALLS, per, storeUrl, gateway, held, least = 200, readBooks }: LoadOptions,
  disturb: (load: Load) => Promise<void>,
) {
  const { run, upstream, path, serveWith } = await scene(limited(CALLS, per ?? 'month'), storeUrl)
  const serve = (index: number): Promise<Running> => {
    const { storeUrl: own, environment = {} } = gateway?.(index) ?? {}
    return serveWith(environment, ...(own === undefined ? [] : ['--store', own]))
  }
  const credit = ['wallet', 'credit', 'paid', money(CALLS), '--reference', 'r']
  expect(await run(credit)).toMatchObject({ exit: 0 })
  const random = seeded(SEED)
  let [permits, mostPermits] = [0, 0]
  upstream.answer(async exchange => {
    const { user, stream } = exchange.request.json() as { user: string; stream: boolean }
    if (user === 'PERMITS') {
      mostPermits = Math.max(mostPermits, ++permits)
    }
    try {
      await pause(2 + random() * 10)
      const [first, ...rest] = EVENTS
      if (user === 'HELD' && held) return await sse([first, held, ...rest])(exchange)
      const answer = stream ? sse([...EVENTS]) : json({ choices: [], usage: USAGE })
      await answer(exchange)
    } finally {
      if (user === 'PERMITS') permits--
    }
  })
  const completed: string[] = []
  const rejected = new Map<string, number>()
  const over = { isOver: false }

  const gateways: Running[] = []
  for (let index = 0; index < count; index++) gateways.push(await serve(index))
  const agent = new Agent({ keepAlive: true })
  const send = async ({ url }: Running, name: string, secret: string, stream: boolean) => {
    const body = JSON.stringify({ model: 'm', stream, max_tokens: USAGE.completion_tokens, user: name })
    const seen = await call(url, { agent, path: PATH, body: body.padEnd(BODY_BYTES), secret })
    const isWhole = isComplete(seen, stream)
    if (isWhole) completed.push(seen.requestId ?? '')
    return { seen, isWhole }
  }
  const client = async (name: string, secret: string): Promise<void> => {
    for (let number = 0; !over.isOver; number++) {
      const gateway = gateways[Math.floor(random() * count)] as Running
      if (gateway.isStopped) {
        await pause(1)
        continue
      }
      const { seen, isWhole } = await send(gateway, name, secret, number % 3 !== 0)
      if (isWhole) continue
      if (seen.status === 0) await pause(10)
      else {
        const code = `${name} ${seen.status} ${/"code":"(\w+)"/.exec(seen.body)?.[1]}`
        rejected.set(code, (rejected.get(code) ?? 0) + 1)
        await pause(5)
      }
    }
  }
  const secrets = { APP: SECRET, ...OTHER_KEYS } as Readonly<Record<string, string>>
  const clients = Object.entries(secrets).flatMap(([name, secret]) =>
    Array.from({ length: CLIENTS_OF_EACH_KEY }, () => client(name.replace('_KEY', ''), secret)),
  )
  const callOnce = async (gateway: Running) => (await send(gateway, 'APP', SECRET, false)).isWhole
  await disturb({ path, random, gateways, serve, run, completed: () => completed.length, callOnce })
  over.isOver = true
  await Promise.all(clients)
  agent.destroy()
  for (const { child } of gateways) {
    expect(child.exitCode, `a gateway has ended by itself: ${textOf(child)}`).toBe(null)
    const exited = once(child, 'exit')
    child.kill('SIGTERM')
    expect(await exited).toEqual([0, null])
  }

  expect(await run(['ledger', 'verify'])).toEqual({
    exit: 0,
    stdout: expect.stringContaining('all sums match'),
  })
  const books = await readBooks(path)
  expect(books.open).toBe(0)
  const lost = completed.filter(id => {
    const charge = books.charges.get(id)
    return charge?.nano !== EXACT_NANO || charge.flags !== ''
  })
  expect(lost, `seed ${SEED}: completed, but not billed once and exactly`).toEqual([])

  const spent = (key: string) => books.keys.get(key) ?? { tokens: 0, nano: 0 }
  const mostNano = CALLS * Number(EXACT_NANO)
  expect(spent('quota').tokens, `seed ${SEED}: tokens of the quota`).toBeLessThanOrEqual(CALLS * TOKENS)
  expect(spent('budget').nano, `seed ${SEED}: the budget`).toBeLessThanOrEqual(mostNano)
  expect(spent('paid').nano, `seed ${SEED}: the balance`).toBeLessThanOrEqual(mostNano)
  const overfilled = mostOver(books.rateTimes)
  expect(overfilled, `seed ${SEED}: units above the burst of the rate`).toBeLessThanOrEqual(1)
  expect(mostPermits, `seed ${SEED}`).toBeLessThanOrEqual(CONCURRENCY)
  expect(completed.length).toBeGreaterThan(least)
  expect(books.leftShares).toEqual({ instances: 0, shares: 0, notReturned: 0 })
  return {
    seed: SEED,
    completed: completed.length,
    quota: spent('quota').tokens / (CALLS * TOKENS),
    budget: spent('budget').nano / mostNano,
    paid: spent('paid').nano / mostNano,
    overfilled,
    rate: books.rateTimes.length,
    mostPermits,
    rejected: Object.fromEntries(rejected),
  }
}

/** By how many units a bucket of this rate was overfilled at most. */
function mostOver(times: readonly number[]): number {
  let [level, at, most] = [0, 0, 0]
  for (const time of times) {
    level = Math.max(0, level - ((time - at) * RATE.limit) / MINUTE_MS) + 1
    at = time
    most = Math.max(most, level - RATE.burst)
  }
  return most
}
