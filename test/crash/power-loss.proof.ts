import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test, vi } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import type { JournalFiles, SegmentFile } from '../../src/store/journal/files.ts'
import { journalFolder, segmentPath } from '../../src/store/journal/files.ts'
import { requestIdOf } from '../../src/store/ledger/columns.ts'
import { LedgerThread } from '../../src/store/ledger/ledger-thread.ts'
import { openLedger } from '../../src/store/ledger/open-ledger.ts'
import { openStore } from '../../src/store/open.ts'
import { WORKER_URL } from '../store/ledger/opened.ts'
import { json, sse } from '../support/answers.ts'
import { scriptedUpstream } from '../support/scripted-upstream.ts'
import { seeded } from '../support/seeded.ts'
import { tempDir } from '../support/temp-dir.ts'
import { wholeGateway } from '../support/whole-gateway.ts'
import { EVENTS, PATH, SECRET, USAGE } from './scene.ts'

const CALLS = Number(process.env['GW_CALLS'] ?? 120)
const CUTS = Number(process.env['GW_CUTS'] ?? 30)
const SEED = Number(process.env['GW_SEED'] ?? Date.now() % 1_000_000)
const CLIENTS = 6
const SECTOR_BYTES = 512

interface Write {
  readonly segment: number
  readonly at: number
  readonly bytes: Buffer
  readonly writtenAt: number
  /** The moment from which it is on the disk in any case. */
  durableFrom: number
}

interface Seen {
  readonly requestId: string
  /** The moments of the first byte, and of the end of a whole answer. */
  readonly firstAt: number
  wholeAt: number
}

/**
 * What happened, in one order: the files of the journal call `tick` for each write and sync, the clients for what they see. A sync
 * ends late at random, so that a byte that does not wait for it is seen too early.
 */
const timeline = vi.hoisted(() => ({
  now: 0,
  writes: [] as unknown[],
  segments: new Map<number, number>(),
  lateMs: (): number => 0,
}))
const tick = (): number => ++timeline.now

vi.mock(import('../../src/store/journal/files.ts'), async importOriginal => {
  const original = await importOriginal()
  const writes = timeline.writes as Write[]
  class RecordedFolder extends original.JournalFolder implements JournalFiles {
    override open(number: number): SegmentFile {
      const file = super.open(number)
      timeline.segments.set(number, file.bytes)
      return {
        bytes: file.bytes,
        write(bytes, at) {
          file.write(bytes, at)
          const segment = number
          const piece = Buffer.from(bytes)
          writes.push({ segment, at, bytes: piece, writtenAt: tick(), durableFrom: Number.POSITIVE_INFINITY })
        },
        async sync() {
          const covers = writes.filter(
            ({ segment, durableFrom }) => segment === number && durableFrom === Number.POSITIVE_INFINITY,
          )
          await file.sync()
          await pause(timeline.lateMs())
          const from = tick()
          for (const write of covers) write.durableFrom = Math.min(write.durableFrom, from)
        },
        close: () => file.close(),
      }
    }
  }
  return { ...original, JournalFolder: RecordedFolder }
})

/** The journal as a disk has it after a power cut: what was synced, and of the rest any sectors. */
function writeJournal(folder: string, cutAt: number, survives: () => boolean): void {
  mkdirSync(folder, { recursive: true })
  for (const [number, bytes] of timeline.segments) {
    const disk = Buffer.alloc(bytes)
    for (const write of (timeline.writes as Write[]).filter(
      ({ segment, writtenAt }) => segment === number && writtenAt <= cutAt,
    )) {
      if (write.durableFrom <= cutAt) write.bytes.copy(disk, write.at)
      else
        for (let from = 0; from < write.bytes.length; from += SECTOR_BYTES)
          if (survives())
            write.bytes.copy(disk, write.at + from, from, Math.min(from + SECTOR_BYTES, write.bytes.length))
    }
    writeFileSync(segmentPath(folder, number), disk)
  }
}

const NAME = `a power cut at ${CUTS} moments: an answer that was seen whole is billed, one that has begun has its hold`
test(NAME, { timeout: 600_000 }, async () => {
  const random = seeded(SEED)
  timeline.lateMs = () => Math.floor(random() * 8)
  const dir = tempDir(onTestFinished)
  const upstream = await scriptedUpstream(onTestFinished)
  upstream.answer(async exchange => {
    // Some answers begin before a sync can end, some take longer.
    const { stream } = exchange.request.json() as { stream: boolean }
    const think = () => pause(random() < 0.5 ? 0 : random() * 12)
    const answer = stream
      ? sse([EVENTS[0], think(), EVENTS[1], think(), EVENTS[2]])
      : (await think(), json({ choices: [], usage: USAGE }))
    await answer(exchange)
  })
  dir.write(
    'gw.yaml',
    `version: 1
endpoints: { oai: { protocol: openai, base_url: "${upstream.url}/v1", served_model: served, skip_probe: true } }
publications: { m: { price: { input: "1", output: "10" }, bindings: [{ endpoint: oai }] } }
tenants: { acme: {} }
keys: { app: { kind: tenant, tenant: acme, secret: { env: APP_KEY } } }
`,
  )
  const gateway = await wholeGateway(onTestFinished, dir.at('gw.yaml'), { APP_KEY: SECRET })
  const store = gateway.store.slice('sqlite:'.length)
  const before = dir.at('before.db')
  const raw = new Database(store)
  await raw.backup(before)
  raw.close()

  const seen = await load(gateway.gatewayUrl, random)
  expect(seen.filter(({ wholeAt }) => wholeAt < Number.POSITIVE_INFINITY).length).toBe(CALLS)
  expect(timeline.segments.size).toBeLessThan(3)

  const last = timeline.now
  for (let cut = 0; cut < CUTS; cut++) {
    const cutAt = 1 + Math.floor(((cut + random()) / CUTS) * last)
    const folder = tempDir(onTestFinished).path
    cpSync(before, `${folder}/gw.db`)
    const journal = journalFolder(`${folder}/gw.db`)
    writeJournal(journal, cutAt, () => random() < 0.5)
    const ends = await recovered(folder)
    for (const { requestId, firstAt, wholeAt } of seen) {
      const where = `seed ${SEED}, cut at ${cutAt} of ${last}: ${requestId}`
      if (wholeAt <= cutAt) expect(ends.get(requestId), where).toBe('billed')
      else if (firstAt <= cutAt) expect(ends.has(requestId), where).toBe(true)
    }
  }
})

/** Runs all calls. Notes when each client has seen the first and the last byte. */
async function load(url: string, random: () => number): Promise<Seen[]> {
  const agent = new Agent({ keepAlive: true })
  onTestFinished(() => agent.destroy())
  const seen: Seen[] = []
  let left = CALLS
  const client = async (): Promise<void> => {
    while (left-- > 0) {
      const stream = random() < 0.5
      const body = JSON.stringify({
        stream,
        model: 'm',
        messages: [{ role: 'user', content: 'x'.repeat(random() * 100) }],
      })
      await new Promise<void>((resolve, reject) => {
        const headers = { authorization: `Bearer ${SECRET}`, 'content-type': 'application/json' }
        const sent = request(url + PATH, { agent, method: 'POST', headers }, res => {
          const one = {
            requestId: String(res.headers['x-request-id']),
            firstAt: tick(),
            wholeAt: Number.POSITIVE_INFINITY,
          }
          expect(res.statusCode).toBe(200)
          seen.push(one)
          res.resume().on('end', () => {
            if (res.complete) one.wholeAt = tick()
            resolve()
          })
        })
        sent.on('error', reject).end(body)
      })
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  return seen
}

/** Starts on what the disk has. Returns how each call has ended; the ledger adds up. */
async function recovered(folder: string): Promise<Map<string, 'billed' | 'interrupted'>> {
  const url = `sqlite:${folder}/gw.db`
  const options = { clock: systemClock, folder }
  const store = await openStore(url, { ...options, mode: 'write' })
  const alarms: string[] = []
  const ledger = await openLedger(url, {
    ...options,
    thread: new LedgerThread(WORKER_URL),
    events: {
      onProblem: message => void alarms.push(message),
      onRecovered: () => undefined,
      onAlarm: message => void alarms.push(message),
      onDeath: error => void alarms.push(error.message),
    },
  })
  await ledger.recover(systemClock.nowMs())
  expect(await ledger.close()).toBe(0)
  expect(await store.accounting.verify()).toMatchObject({ openHolds: 0, findings: [] })
  await store.close()
  expect(alarms).toEqual([])
  const raw = new Database(`${folder}/gw.db`, { readonly: true })
  const rows = raw
    .prepare<[], { id: string; flags: number }>(
      `select ${requestIdOf('request')} as id, flags from ledger where kind = 0`,
    )
    .all()
  raw.close()
  return new Map(rows.map(({ id, flags }) => [id, flags & 1 ? 'interrupted' : 'billed']))
}
