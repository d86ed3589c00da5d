import Database from 'better-sqlite3'
import { expect, onTestFinished, test, vi } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { createLog } from '../../src/base/log.ts'
import type { Reservation } from '../../src/limits/reservation.ts'
import { LedgerRuntime, type LedgerRuntimePorts } from '../../src/server/ledger-runtime.ts'
import { LedgerThread } from '../../src/store/ledger/ledger-thread.ts'
import { openStore } from '../../src/store/open.ts'
import { holding, keyEntry, MODEL, snapshotOf, tenantEntry, used } from '../limits/limits-scene.ts'
import { WORKER_URL } from '../store/ledger/opened.ts'
import { verified } from '../store/ledger/verified.ts'
import { canonical, MINE, put } from '../store/samples.ts'
import { faultyWay } from '../support/faulty-way.ts'
import { storeDatabase } from '../support/postgres.ts'
import { makeReadOnly, READ_ONLY_WORKER } from '../support/read-only-ledger.ts'
import { tempDir } from '../support/temp-dir.ts'
import { type TestClock, testClock } from '../support/test-clock.ts'

const DAY_MS = 86_400_000
const KEY = keyEntry('app')

interface OpenOptions extends Pick<LedgerRuntimePorts, 'signal' | 'clockOffMs' | 'ledgerThread'> {
  readonly url?: string
}

async function scene() {
  const folder = tempDir(onTestFinished)
  const store = await openStore(`sqlite:${folder.at('gw.db')}`, { mode: 'create', clock: systemClock })
  onTestFinished(() => store.close())
  const raw = new Database(folder.at('gw.db'), { readonly: true })
  onTestFinished(() => void raw.close())
  const lines: string[] = []
  const log = createLog({ write: line => lines.push(line) }, { level: 'info', pretty: false, colour: false })
  const clock = testClock()
  return {
    store,
    clock,
    lines,
    path: folder.at('gw.db'),
    openRequests: () => raw.prepare('select request_id from open_holds order by 1').pluck().all(),
    open: async ({ url = `sqlite:${folder.at('gw.db')}`, ...more }: OpenOptions = {}) => {
      const books = await LedgerRuntime.open(url, {
        clock,
        log,
        cwd: folder.path,
        ledgerThread: new LedgerThread(READ_ONLY_WORKER),
        onDeath: error => lines.push(`death: ${error.message}`),
        ...more,
      })
      onTestFinished(() => books.ledger.close(0).then(() => undefined))
      await books.prepare(snapshotOf(KEY))
      books.adopt(snapshotOf(KEY))
      return books
    },
  }
}

const claimOf = (requestId: string) => {
  return { requestId, attempt: 1, key: 'app', publication: MODEL.name, endpoint: 'east' }
}

/** A request that has its hold, in the limits and in the ledger. */
async function admitted(books: LedgerRuntime, requestId: string): Promise<Reservation> {
  const { limiter, ledger } = books
  const reservation = limiter.admit({
    requestId,
    key: KEY,
    publication: MODEL,
    estimate: holding(100, 50, 10n),
    holdForMs: 600_000,
  })
  await ledger.open({ ...claimOf(requestId), ...reservation.hold })
  return reservation
}

/** Twenty looks after the books, of which two sweep. */
async function tended(books: LedgerRuntime, clock: TestClock): Promise<void> {
  for (let second = 0; second < 20; second++) {
    clock.advance(1_000)
    // Twice: what is asked because of an answer is behind the first.
    await books.ledger.flush()
    await books.ledger.flush()
  }
}

test('a wall clock that is set forward or back sweeps no request that goes on, and hides none that was lost', async () => {
  const { clock, open, openRequests, store, lines } = await scene()
  const books = await open()
  const going = await admitted(books, 'going')
  // As a crash of a part would leave it: in the ledger alone.
  await books.ledger.open({ ...going.hold, ...claimOf('lost') })

  await tended(books, clock)
  expect(openRequests()).toEqual(['going', 'lost'])
  const noonMs = clock.nowMs()
  clock.setNowMs(noonMs + DAY_MS)
  await tended(books, clock)
  expect(openRequests()).toEqual(['going'])
  clock.setNowMs(noonMs - DAY_MS)
  await tended(books, clock)
  expect(openRequests()).toEqual(['going'])
  expect(books.limiter.openHolds).toBe(1)

  expect(going.settle(used(70, 30), 7n)).toBe(true)
  going.leave()
  const bill = {
    kind: 'settle',
    endedAtMs: clock.nowMs(),
    amountNano: 7n,
    usage: used(70, 30),
    flags: [],
  } as const
  await books.ledger.end({ ...claimOf('going'), ...bill })
  await books.ledger.flush()
  expect(lines.filter(line => line.includes('contradicts'))).toEqual([])
  expect(await store.accounting.verify()).toEqual(verified({ entries: 2 }))
  expect(await books.close()).toBe(0)
})

test('the first credit of a store reaches a running gateway, also where a revision follows before it is heard of', async () => {
  const { clock, open, store } = await scene()
  const spec = canonical('tenant', { billing: 'prepaid' })
  await put(store, { kind: 'tenant', name: 'acme', spec, ...MINE })
  const paying = keyEntry('paying', { tenant: tenantEntry('acme', { billing: 'prepaid' }) })
  const books = await open()
  const serve = async () => {
    await books.prepare(snapshotOf(paying))
    books.adopt(snapshotOf(paying))
  }
  const admit = (requestId: string) =>
    books.limiter.admit({
      requestId,
      key: paying,
      publication: MODEL,
      estimate: holding(100, 50, 10n),
      holdForMs: 600_000,
    })
  await serve()
  expect(() => admit('too early')).toThrow(expect.objectContaining({ code: 'insufficient_balance' }))
  await store.accounting.credit({ tenant: 'acme', amountNano: 1_000n, reference: 'first' })
  await serve()
  await tended(books, clock)
  expect(admit('paid').hold.amountNano).toBe(10n)
})

test('the ids of kept answers are pruned once they have expired', async () => {
  const { clock, open, path } = await scene()
  const raw = new Database(path, { readonly: true })
  onTestFinished(() => void raw.close())
  const left = () => raw.prepare('select id from stored_responses').pluck().all()
  const books = await open()
  const { hold } = await admitted(books, 'a')
  await books.ledger.open({ ...hold, ...claimOf('b') })
  const bill = {
    kind: 'settle',
    endedAtMs: clock.nowMs(),
    amountNano: 0n,
    usage: used(1, 1),
    flags: [],
  } as const
  const storedFor = (id: string, ms: number) => ({
    ids: [id],
    tokens: 2,
    outputTokens: 1,
    expiresAtMs: clock.nowMs() + ms,
  })
  await books.ledger.end({ ...claimOf('a'), ...bill, stored: storedFor('resp_1', 60_000) })
  await books.ledger.end({ ...claimOf('b'), ...bill, stored: storedFor('resp_2', DAY_MS) })
  await tended(books, clock)
  expect(left()).toEqual(['resp_1', 'resp_2'])
  const leftLater = () => tended(books, clock).then(left)
  await expect.poll(leftLater).toEqual(['resp_2'])
})

test('who asks for a snapshot while the books close is rejected, and nothing is left unheard', async () => {
  const books = await (await scene()).open()
  const closing = books.close()
  const wanted = snapshotOf(keyEntry('other', { quotaTokens: 10 }))
  await expect(books.prepare(wanted)).rejects.toMatchObject({ reason: 'the ledger is closing' })
  expect(await closing).toBe(0)
})

test('a process that ends while its store cannot be written loses nothing: the next start folds its journal', async () => {
  const { clock, open, openRequests, path, store, lines } = await scene()
  const books = await open()
  const [whole, cut] = [await admitted(books, 'whole'), await admitted(books, 'cut')]
  await books.ledger.flush()
  await makeReadOnly(path, true)
  whole.settle(used(70, 30), 7n)
  await books.ledger.end({
    ...claimOf('whole'),
    kind: 'settle',
    endedAtMs: clock.nowMs(),
    amountNano: 7n,
    usage: used(70, 30),
    flags: [],
  })

  const closing = books.close()
  await new Promise(resolve => setImmediate(resolve))
  clock.advance(10_000)
  expect(await closing).toBe(0)
  expect(openRequests()).toEqual(['cut', 'whole'])

  const next = await open()
  await next.ledger.flush()
  expect(lines.some(line => line.includes('settled holds that an earlier process left open'))).toBe(true)
  expect(openRequests()).toEqual([])
  const usage = await store.accounting.usage({ by: 'key', sinceMs: 0, untilMs: clock.nowMs() + 1 })
  expect(usage).toMatchObject([
    { label: 'app', requests: 2, inputTokens: 70 + cut.hold.inputTokens, estimated: 1 },
  ])
  expect(await store.accounting.verify()).toMatchObject({ openHolds: 0, findings: [] })
  expect(await next.close()).toBe(0)
})

test('a signal ends a start that waits for a store which another program has locked', {
  timeout: 40_000,
}, async () => {
  const { path, open, lines, openRequests, clock } = await scene()
  const books = await open()
  await admitted(books, 'left')
  await books.ledger.flush()
  const closing = books.ledger.close(0)
  clock.advance(1)
  await closing
  expect(openRequests()).toEqual(['left'])
  const raw = new Database(path)
  onTestFinished(() => void raw.close())
  raw.exec('begin immediate')
  const stop = new AbortController()
  const opening = open({ signal: stop.signal })
  await vi.waitFor(() => expect(lines.join('')).toContain('the ledger cannot be written'), 20_000)
  stop.abort(new Error('stopped'))
  clock.advance(1_000)
  await expect(opening).rejects.toThrow('stopped')
})

test('a server that no longer answers while the ledger begins is a store that cannot be used', async () => {
  const { url } = await storeDatabase(onTestFinished)
  const port = Number(new URL(url).port)
  const way = await faultyWay(port, onTestFinished)
  const { open } = await scene()
  const opened = open({
    url: url.replace(`:${port}/`, `:${way.port}/`),
    ledgerThread: new LedgerThread(WORKER_URL),
    clockOffMs: async () => {
      way.set('swallow answers')
      return 0
    },
  })
  await expect(opened).rejects.toMatchObject({
    code: 'store_unavailable',
    message: expect.stringContaining('Query read timeout'),
  })
})
