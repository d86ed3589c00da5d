import { readFileSync, renameSync } from 'node:fs'
import { Agent } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { json } from '../support/answers.ts'
import { seeded } from '../support/seeded.ts'
import { call } from './clients.ts'
import { EVENTS, gw, isComplete, PATH, SECRET, said, scene, start, USAGE } from './scene.ts'
import { numberedBody } from './served.ts'

type Phase = 'before' | 'during' | 'after'

/** How long files are saved. In a long run the same load runs as long before it and after it without. */
const SECONDS = Number(process.env['GW_RELOAD_SECONDS'] ?? 3)
const IS_LONG = process.env['GW_RELOAD_SECONDS'] !== undefined
const QUIET_MS = IS_LONG ? SECONDS * 1_000 : 500
const SEED = Number(process.env['GW_SEED'] ?? Date.now() % 1_000_000)
const EVERY_MS = 200
const SAVES = Math.floor((SECONDS * 1_000) / EVERY_MS)
const BAD_EVERY = Math.max(3, Math.floor(SAVES / 20))
const CALLERS = 12
const STREAMS = 6
/** Of the streams: they outlast many a revision. */
const BEATS = 30
const BEAT_MS = 50

/** What fails at each stage: files that do not parse, that do not fit, and a revision that names a secret that does not exist. */
const MISTAKES: readonly ((good: string) => string)[] = [
  good => `${good}\nx: [`,
  good => good.replace('display_name', 'display_nam'),
  good => good.replace('skip_probe', 'upstream_key: { env: NOT_THERE }, skip_probe'),
]

test(
  `files saved every ${EVERY_MS} ms under load, some of them bad: no failed request, no dropped stream, no lost connection`,
  async () => {
    const { dir, upstream } = await scene()
    const random = seeded(SEED)
    upstream.answer(async exchange => {
      const { stream } = exchange.request.json() as { stream: boolean }
      await pause(2)
      if (!stream) return json({ choices: [], usage: USAGE })(exchange)
      const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`
      await exchange.write(
        'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n',
      )
      for (let beat = 0; beat < BEATS; beat++) {
        await exchange.write(chunk(EVENTS[0]))
        await pause(BEAT_MS)
      }
      await exchange.write(`${chunk(EVENTS[1])}${chunk(EVENTS[2])}0\r\n\r\n`)
    })
    dir.write('config/served.yaml', readFileSync(dir.at('gw.yaml'), 'utf8'))
    const save = (text: string): void => {
      renameSync(dir.write('config/.more.tmp', `version: 1\n${text}\n`), dir.at('config/more.yaml'))
    }
    const words = 'serve -c config --watch --gateway-only --listen 127.0.0.1:0 --format json'
    const child = await start(dir, words.split(' '))
    let log = ''
    child.stdout?.on('data', (piece: Buffer) => {
      log += piece.toString()
    })
    const url = (await said(child, 'Gateway on ')).slice('Gateway on '.length)
    const agent = new Agent({ keepAlive: true })
    const failed: string[] = []
    let phase: Phase = 'before'
    const tookMs: Record<Phase, number[]> = { before: [], during: [], after: [] }
    let streams = 0
    const over = new AbortController()
    let next = 0
    const caller = async (stream: boolean): Promise<void> => {
      while (!over.signal.aborted) {
        const number = next++
        const began = performance.now()
        const seen = await call(url, {
          agent,
          path: PATH,
          body: numberedBody(number, { path: PATH, model: 'm', stream }),
          secret: SECRET,
        })
        const beats = seen.body.split('word ').length - 1
        if (!isComplete(seen, stream) || (stream && beats !== BEATS))
          failed.push(`${phase}: ${seen.status} ${seen.fault ?? ''} ${seen.body.slice(-300)}`)
        if (stream) streams++
        else tookMs[phase].push(performance.now() - began)
        await pause(stream ? 0 : 10)
      }
    }
    const callers = [
      ...Array.from({ length: CALLERS }, () => caller(false)),
      ...Array.from({ length: STREAMS }, () => caller(true)),
    ]
    await pause(1_000)
    tookMs.before.length = 0
    await pause(QUIET_MS)
    const connectionsBefore = upstream.connectionsMade
    const memoryBefore = residentMib(child.pid)

    phase = 'during'
    let bad = 0
    for (let count = 1; count <= SAVES; count++) {
      const isBad = count % BAD_EVERY === 0 && bad < 20
      const good = variant(count, random)
      save(isBad ? (MISTAKES[bad++ % MISTAKES.length]?.(good) ?? good) : good)
      await pause(EVERY_MS)
      // On a busy machine a bad file would be saved over before it is read.
      const wanted = isBad ? Math.min(bad, 2) : 0
      const untilMs = performance.now() + 5_000
      while (rejections(log) < wanted && performance.now() < untilMs) await pause(EVERY_MS)
    }
    phase = 'after'
    save(variant(SAVES + 1, random))
    await pause(QUIET_MS)
    over.abort()
    await Promise.all(callers)
    const memoryAfter = residentMib(child.pid)
    const connectionsLater = upstream.connectionsMade - connectionsBefore
    agent.destroy()

    const health = (await (await fetch(`${url}/health`)).json()) as { status: string; revision: number }
    const p99 = {
      before: percentile(tookMs.before),
      during: percentile(tookMs.during),
      after: percentile(tookMs.after),
    }
    const rejected = rejections(log)
    const shown = `seed ${SEED}: ${next} requests, ${streams} streams, ${SAVES} saves, ${health.revision} revisions, ${rejected} rejected; p99 ${JSON.stringify(p99)} ms; ${memoryBefore} → ${memoryAfter} MiB; ${connectionsLater} connections more`
    if (IS_LONG) console.log(shown)
    expect(failed, shown).toEqual([])
    expect(health, shown).toMatchObject({ status: 'ok' })
    expect(health.revision, shown).toBeGreaterThan(SAVES / 4)
    expect(rejected, shown).toBeGreaterThanOrEqual(Math.min(bad, 2))
    // The origin that stays has kept its connections: none is opened anew because of a revision.
    expect(connectionsLater, shown).toBeLessThanOrEqual(STREAMS + 2)
    if (IS_LONG) {
      expect(p99.during, shown).toBeLessThanOrEqual(2 * Math.max(p99.before, p99.after))
      expect(memoryAfter, shown).toBeLessThanOrEqual(memoryBefore * 1.25 + 32)
    }
    child.kill('SIGTERM')
    await new Promise(resolve => child.once('exit', resolve))
    expect((await gw(dir, ['ledger', 'verify'])).stdout).toContain('all sums match')
  },
  60_000 + SECONDS * 6_000,
)

/** Other upstreams come and go, and a policy changes: all but what the callers use. */
function variant(count: number, random: () => number): string {
  const port = 20_000 + Math.floor(random() * 10)
  return `
endpoints:
  passing-${count % 3}: { protocol: openai, base_url: "http://127.0.0.1:${port}/v1", served_model: s, skip_probe: true }
tenants: { blue: { display_name: "Save ${count}" } }
keys: { passing: { kind: tenant, tenant: blue, limits: { rpm: ${count} } } }`
}

/** How many times the gateway has rejected files or a revision. */
function rejections(log: string): number {
  return log.split('\n').filter(line => /"cannot (?:apply the files|serve revision)"/.test(line)).length
}

function percentile(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return Math.round((sorted[Math.floor(sorted.length * 0.99)] ?? 0) * 10) / 10
}

/** As Linux tells it; 0 elsewhere. */
function residentMib(pid: number | undefined): number {
  try {
    const [, kib] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    return Math.round(Number(kib ?? 0) / 1_024)
  } catch {
    return 0
  }
}
