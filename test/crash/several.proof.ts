import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { Agent } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { expect, test } from 'vitest'
import { nameOf } from '../../src/store/ledger/columns.ts'
import { json, sse } from '../support/answers.ts'
import { call, seeded } from './clients.ts'
import { EVENTS, EXACT_NANO, gw, isComplete, OTHER_KEYS, PATH, SECRET, scene, USAGE } from './scene.ts'
import { readBooks } from './served.ts'

const ROUNDS = Number(process.env['GW_KILLS'] ?? 4)
const GATEWAYS = 3
const CLIENTS_OF_EACH_KEY = 4
const SEED = Number(process.env['GW_SEED'] ?? Date.now() % 1_000_000)

/** A call holds exactly what it costs: then a limit admits a number of calls, and one more is one too many. */
const BODY_BYTES = 300
const TOKENS = USAGE.prompt_tokens + USAGE.completion_tokens
const CALLS = 50 * ROUNDS
const RATE = { limit: 600, burst: 20 }
const CONCURRENCY = 3
const MINUTE_MS = 60_000

const money = (calls: number) =>
  `${(BigInt(calls) * EXACT_NANO) / 1_000n}`.padStart(7, '0').replace(/(.{6})$/, '.$1')

const LIMITED = (upstreamUrl: string): string => `
version: 1
endpoints: { oai: { protocol: openai, base_url: "${upstreamUrl}/v1", served_model: served, skip_probe: true } }
publications: { m: { price: { input: "1", output: "10" }, bindings: [{ endpoint: oai }] } }
tenants: { acme: {}, paid: { billing: prepaid } }
keys:
  app: { kind: tenant, tenant: acme, secret: { env: APP_KEY } }
  quota: { kind: tenant, tenant: acme, secret: { env: QUOTA_KEY }, quota: ${CALLS * TOKENS} }
  budget: { kind: tenant, tenant: acme, secret: { env: BUDGET_KEY }, budget: { amount: "${money(CALLS)}", per: month } }
  rate:
    kind: tenant
    tenant: acme
    secret: { env: RATE_KEY }
    limits: { rpm: { limit: ${RATE.limit}, burst: ${RATE.burst} } }
  permits: { kind: tenant, tenant: acme, secret: { env: PERMITS_KEY }, limits: { concurrency: ${CONCURRENCY} } }
  paid: { kind: tenant, tenant: paid, secret: { env: PAID_KEY } }
`

interface Running {
  readonly child: ChildProcess
  readonly url: string
}

test(
  `${GATEWAYS} gateways on one file, one killed each second, ${ROUNDS} times: no limit is passed, each answer has its bill`,
  async () => {
    const { dir, upstream, path, serve } = await scene(LIMITED)
    const credit = ['wallet', 'credit', 'paid', money(CALLS), '--reference', 'r']
    expect(await gw(dir, credit)).toMatchObject({ exit: 0 })
    const random = seeded(SEED)
    let [permits, mostPermits] = [0, 0]
    upstream.answer(async exchange => {
      const { user, stream } = exchange.request.json() as { user: string; stream: boolean }
      if (user === 'PERMITS') {
        mostPermits = Math.max(mostPermits, ++permits)
      }
      try {
        await pause(2 + random() * 10)
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
    for (let index = 0; index < GATEWAYS; index++) gateways.push(await serve())
    const agent = new Agent({ keepAlive: true })
    const client = async (name: string, secret: string): Promise<void> => {
      for (let number = 0; !over.isOver; number++) {
        const { url } = gateways[Math.floor(random() * GATEWAYS)] as Running
        const stream = number % 3 !== 0
        const body = JSON.stringify({ model: 'm', stream, max_tokens: USAGE.completion_tokens, user: name })
        const seen = await call(url, { agent, path: PATH, body: body.padEnd(BODY_BYTES), secret })
        if (isComplete(seen, stream)) completed.push(seen.requestId ?? '')
        else if (seen.status === 0) await pause(10)
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
    for (let round = 0; round < ROUNDS; round++) {
      await pause(1_000 + random() * 1_000)
      const victim = Math.floor(random() * GATEWAYS)
      const { child } = gateways[victim] as Running
      const exited = once(child, 'exit')
      child.kill('SIGKILL')
      await exited
      await pause(random() < 0.5 ? 0 : 1_500)
      gateways[victim] = await serve()
    }
    await pause(2_000)
    over.isOver = true
    await Promise.all(clients)
    agent.destroy()
    for (const { child } of gateways) {
      const exited = once(child, 'exit')
      child.kill('SIGTERM')
      expect(await exited).toEqual([0, null])
    }

    expect(await gw(dir, ['ledger', 'verify'])).toEqual({
      exit: 0,
      stdout: expect.stringContaining('all sums match'),
    })
    const { booked, open } = readBooks(path)
    expect(open).toBe(0)
    const lost = completed.filter(id => {
      const ends = booked.get(id)?.ends ?? []
      return !(ends.length === 1 && ends[0]?.amountNano === EXACT_NANO && ends[0].flags === '')
    })
    expect(lost, `seed ${SEED}: completed, but not billed once and exactly`).toEqual([])

    const books = sums(path)
    const spent = (key: string) => books.keys.get(key) ?? { tokens: 0, nano: 0 }
    expect(spent('quota').tokens).toBeLessThanOrEqual(CALLS * TOKENS)
    expect(spent('budget').nano).toBeLessThanOrEqual(CALLS * Number(EXACT_NANO))
    expect(spent('paid').nano).toBeLessThanOrEqual(CALLS * Number(EXACT_NANO))
    const overfilled = mostOver(books.rateTimes)
    expect(overfilled, `seed ${SEED}: units above the burst of the rate`).toBeLessThanOrEqual(1)
    expect(mostPermits, `seed ${SEED}`).toBeLessThanOrEqual(CONCURRENCY)
    expect(completed.length).toBeGreaterThan(200)
    expect(books.leftShares).toEqual({ instances: 0, shares: 0, notReturned: 0 })
    tell(
      JSON.stringify({
        seed: SEED,
        completed: completed.length,
        quota: spent('quota').tokens / (CALLS * TOKENS),
        budget: spent('budget').nano / (CALLS * Number(EXACT_NANO)),
        paid: spent('paid').nano / (CALLS * Number(EXACT_NANO)),
        overfilled,
        rate: books.rateTimes.length,
        mostPermits,
        rejected: Object.fromEntries(rejected),
      }),
    )
  },
  60_000 + ROUNDS * 20_000,
)

/** What the store has in the end: usage by key, the admissions of the rated key, and what is left of shares. */
function sums(path: string) {
  const raw = new Database(path, { readonly: true })
  try {
    const keys = raw
      .prepare(
        `select ${nameOf('key_id')} as key, sum(amount_nano) as nano, sum(input_tokens + output_tokens) as tokens
        from ledger where kind = 0 group by 1`,
      )
      .all() as { key: string; nano: number; tokens: number }[]
    const rateTimes = raw
      .prepare(
        `select at_ms - open_ms from ledger where kind <= 1 and ${nameOf('key_id')} = 'rate' order by 1`,
      )
      .pluck()
      .all() as number[]
    const leftShares = raw
      .prepare(
        `select (select count(*) from instances) as instances, (select count(*) from shares) as shares,
          (select count(*) from scopes where leased <> '0') as notReturned`,
      )
      .get()
    return { keys: new Map(keys.map(row => [row.key, row])), rateTimes, leftShares }
  } finally {
    raw.close()
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

/** Numbers for people, where a long run was asked for. */
function tell(line: string): void {
  if (process.env['GW_KILLS'] !== undefined) console.log(line)
}
