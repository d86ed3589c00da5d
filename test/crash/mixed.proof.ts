import { Agent } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { openStore } from '../../src/store/open.ts'
import { freePort } from '../support/free-port.ts'
import { scriptedUpstream } from '../support/scripted-upstream.ts'
import { seeded } from '../support/seeded.ts'
import { tempDir } from '../support/temp-dir.ts'
import { whenFolded } from '../support/when-folded.ts'
import { wholeGateway } from '../support/whole-gateway.ts'
import { call, type Seen } from './clients.ts'
import { PLANS, type Plan, priceOf, tokensFor } from './plans.ts'
import { type Booked, type LedgerRow, numberedBody, numberIn, readBooks } from './served.ts'

const REQUESTS = Number(process.env['GW_MIXED'] ?? 1_000)
const CLIENTS = 64
const LEAVING = 0.3
const SEED = Number(process.env['GW_SEED'] ?? Date.now() % 1_000_000)
const SECRET = 'sk-a-secret-of-their-own-0123456789'

/** One request, from all sides. */
interface Story {
  readonly plan: Plan
  readonly seen: Seen
  /** The client was to leave, if it came to that. */
  readonly leaves: boolean
}

test(
  `${REQUESTS} requests of every outcome, at random, with disconnects anywhere: the bills are what the upstream served`,
  async () => {
    const { path, url, store, served, leavers, upstreamSaw, drain } = await scene()
    const random = seeded(SEED)
    const agent = new Agent({ keepAlive: true })
    onTestFinished(() => agent.destroy())
    const stories: Story[] = []
    let next = 0
    let drained: Promise<void> | undefined
    const client = async (): Promise<void> => {
      while (next < REQUESTS) {
        const number = next++
        // Those under way go on meanwhile; the second half begins under the new setting.
        if (number >= REQUESTS >> 1) await (drained ??= drain())
        const plan = PLANS[Math.floor(random() * PLANS.length)] as Plan
        served.set(number, plan)
        const leaves = random() < LEAVING
        const midway = leaves && random() < 0.5
        const atBytes = 1 + Math.floor(random() * 300)
        const afterMs = random() * 12
        if (midway) leavers.add(number)
        const seen = await call(url, {
          agent,
          path: plan.path,
          body: numberedBody(number, plan),
          secret: SECRET,
          ...(midway && { leaves: bytes => bytes >= atBytes }),
          ...(leaves && !midway && { leavesAfterMs: afterMs }),
        })
        stories[number] = { plan, seen, leaves }
      }
    }
    await Promise.all(Array.from({ length: CLIENTS }, client))

    const endedAt = performance.now()
    while ((await readBooks(path)).open > 0 && performance.now() - endedAt < 10_000) await pause(20)
    const heldMs = performance.now() - endedAt
    await whenFolded(path)
    const { booked, open } = await readBooks(path)
    expect(open, `seed ${SEED}: held after the last client`).toBe(0)
    // Within the suite others take the processors meanwhile; alone it is a matter of milliseconds.
    if (REQUESTS >= 10_000) expect(heldMs, `seed ${SEED}: held for so long`).toBeLessThan(1_000)
    const verification = await store.accounting.verify()
    expect(verification, `seed ${SEED}`).toMatchObject({ openHolds: 0, findings: [] })

    const byNumber = new Map([...booked.values()].map(request => [request.number, request]))
    const unknown = [...upstreamSaw].filter(number => {
      const plan = served.get(number) as Plan
      return hasNumber(plan) && plan.fate !== 'free' && !byNumber.has(number)
    })
    expect(unknown, `seed ${SEED}: seen by the upstream, not by the ledger`).toEqual([])
    const wrong = stories.flatMap((story, number) => {
      const request = hasNumber(story.plan) ? byNumber.get(number) : booked.get(story.seen.requestId ?? '')
      const problem = problemOf(story, request, upstreamSaw.has(number), tokensFor(story.plan, number))
      return problem === undefined ? [] : [{ number, problem, story, request }]
    })
    expect(wrong.slice(0, 3), `seed ${SEED}: ${wrong.length} of ${REQUESTS}`).toEqual([])
    const ended = [...booked.values()].flatMap(({ ends }) => ends)
    expect(ended).toHaveLength(booked.size)
    const settledNano = ended.reduce((sum, { amountNano }) => sum + amountNano, 0n)
    expect((await store.accounting.wallet('acme')).balanceNano).toBe(-settledNano)
    expectEveryOutcome(stories, ended)
    tell(stories, ended)
  },
  60_000 + REQUESTS * 20,
)

/** Embeddings and rerank hold nothing for an answer; they are known by the id that their client was given. */
function hasNumber({ path }: Plan): boolean {
  return path !== '/v1/embeddings' && path !== '/v1/rerank'
}

/** What does not fit between what was planned, what the client and the upstream saw, and what the ledger has. */
function problemOf(
  { plan, seen, leaves }: Story,
  request: Booked | undefined,
  wasDispatched: boolean,
  tokens: ReturnType<typeof tokensFor>,
): string | undefined {
  const { fate } = plan
  const isGone = leaves && !isWhole(plan, seen)
  if (fate === 'rejected' || fate === 'free') {
    if (request) return 'held although it costs nothing'
    if (fate === 'rejected' && wasDispatched) return 'rejected, but dispatched'
    return isGone || seen.status === plan.status ? undefined : `answered ${seen.status}`
  }
  if (!request) return isGone ? undefined : 'not held'
  const [end] = request.ends
  if (!end || request.ends.length !== 1) return `${request.ends.length} ends`
  if (end.kind === 'release' && end.amountNano !== 0n) return 'released at a price'
  // The right price of what was counted, whatever was counted; an unreported answer has no search units.
  if (end.kind === 'settle' && end.amountNano !== priceOf(end)) return 'not price times usage'
  const flags = end.flags === null ? [] : end.flags.split(',').filter(mark => mark !== '')
  // The upstream broke off before the hold was durable: no byte of its answer was sent, and it is free.
  if (fate === 'partial' && seen.status === 502 && end.kind === 'release') return undefined
  if (!isGone && seen.status !== plan.status) return `answered ${seen.status}`
  const isExact = sameTokens(end, tokens)
  if (end.kind === 'settle' && !flags.includes('estimated') && !isExact) return 'not what was reported'
  // Who has left may have done so at any moment, but never for more than the plan, nor for nothing once an upstream
  // was at work.
  if (isGone) {
    if (end.kind === 'release') {
      if (fate === 'released') return undefined
      if (end.reason === 'client_gone')
        return wasDispatched ? 'free, though an upstream has worked' : undefined
      return fate === 'partial' ? undefined : `released: ${end.reason}`
    }
    const expected = ['client_gone', 'estimated', 'partial'].filter(mark => flags.includes(mark))
    return expected.length === flags.length ? undefined : `marked ${flags.join()}`
  }
  if (fate === 'released') return end.kind === 'release' ? undefined : 'settled'
  if (end.kind === 'release') return `released: ${end.reason}`
  const expected = { exact: '', estimated: 'estimated', partial: 'partial,estimated' }[fate]
  return flags.join() === expected ? undefined : `marked ${flags.join()}`
}

function sameTokens(end: LedgerRow, tokens: ReturnType<typeof tokensFor>): boolean {
  const { input, cached, written, output, units } = tokens
  return (
    end.input === input &&
    end.cached === cached &&
    end.written === written &&
    end.output === output &&
    end.units === units
  )
}

function isWhole({ stream }: Plan, { status, body, whole }: Seen): boolean {
  if (!whole) return false
  return !(stream && status === 200) || /\[DONE\]\n\n$|message_stop"\}\n\n$|"error"/.test(body)
}

/** A mix in which something never happened proves nothing of it. */
function expectEveryOutcome(stories: readonly Story[], ended: readonly LedgerRow[]): void {
  expect(new Set(stories.map(({ plan }) => plan))).toEqual(new Set(PLANS))
  const flags = new Set(ended.map(end => (end.kind === 'release' ? `released: ${end.reason}` : end.flags)))
  for (const kind of ['', 'estimated', 'partial,estimated', 'client_gone,estimated', 'client_gone'])
    expect(flags).toContain(kind)
}

function tell(stories: readonly Story[], ended: readonly LedgerRow[]): void {
  if (process.env['GW_MIXED'] === undefined) return
  const kinds = new Map<string, number>()
  for (const end of ended) {
    const kind = end.kind === 'release' ? 'released' : `settled ${end.flags}`
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
  }
  console.log(`requests ${stories.length}, held ${ended.length}, seed ${SEED}`, Object.fromEntries(kinds))
}

async function scene() {
  const upstream = await scriptedUpstream(onTestFinished)
  const served = new Map<number, Plan>()
  const leavers = new Set<number>()
  const upstreamSaw = new Set<number>()
  const random = seeded(SEED + 1)
  upstream.answer(async exchange => {
    const number = numberIn(exchange.request.json() as { max_tokens: number })
    upstreamSaw.add(number)
    const plan = served.get(number)
    if (!plan?.answer) throw new Error(`request ${number} was not to be dispatched`)
    if (random() < 0.5) await pause(random() * 6)
    await plan.answer(tokensFor(plan, number))({
      ...exchange,
      // Some pieces come late, and those after the first wait a while for a client that is to leave midway.
      write: async bytes => {
        if (random() < 0.2) await pause(random() * 6)
        const isTaken = await exchange.write(bytes)
        if (leavers.has(number)) await Promise.race([exchange.request.gone, pause(50)])
        return isTaken
      },
    })
  })
  const files = tempDir(onTestFinished)
  const folder = tempDir(onTestFinished).path
  const absent = await freePort()
  const config = (onDisconnect: string) =>
    files.write(
      'gw.yaml',
      `
version: 1
settings: { on_disconnect: ${onDisconnect}, health: { unhealthy_after: 1000 } }
endpoints:
  oai: { protocol: openai, base_url: "${upstream.url}/v1", served_model: served }
  ant: { protocol: anthropic, base_url: "${upstream.url}/v1", served_model: served }
  gone: { protocol: openai, base_url: "http://127.0.0.1:${absent}/v1", served_model: served }
x-price: &price { input: "1", output: "10", cached_input: "0.5", cache_write: "2", per_search_unit: "0.002" }
publications:
  m: { price: *price, bindings: [{ endpoint: oai }, { endpoint: ant }] }
  absent: { price: *price, bindings: [{ endpoint: gone }] }
tenants: { acme: {} }
keys:
  app:
    kind: tenant
    tenant: acme
    secret: { env: APP_KEY }
    limits: { rpm: 10000000, concurrency: 1000 }
    quota: 90000000000000
    budget: { amount: "1000000", per: month }
`,
    )
  const gateway = await wholeGateway(onTestFinished, config('abort'), { APP_KEY: SECRET }, folder)
  const store = await openStore(gateway.store, { mode: 'read', clock: systemClock })
  onTestFinished(() => store.close())
  return {
    path: gateway.store,
    url: gateway.gatewayUrl,
    store,
    served,
    leavers,
    upstreamSaw,
    /** From here on upstreams are read on; a reload in the middle of everything. */
    drain: async () => void (await gateway.apply(config('drain'))),
  }
}
