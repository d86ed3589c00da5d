import { once } from 'node:events'
import { createInterface } from 'node:readline'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { LedgerThread } from '../../../src/store/ledger/ledger-thread.ts'
import { openLedger } from '../../../src/store/ledger/open-ledger.ts'
import { openStore } from '../../../src/store/open.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { openBoth, WORKER_URL } from './opened.ts'
import { built, run } from './processes.ts'
import { hold } from './rows.ts'
import { verified } from './verified.ts'

const ROUNDS = 20

const fail = (what: unknown) => expect.fail(String(what))

/** Opens and ends holds as fast as it can, and prints the id of each row once its promise has resolved. */
const WRITE = `
  import { openLedger } from ${built('store/ledger/open-ledger.js')}
  import { systemClock } from ${built('base/clock.js')}
  import { writeSync } from 'node:fs'
  const [path, round] = process.argv.slice(1)
  // At once and whole, also into a pipe whose reader is slow: a line that waits in here would die with the process.
  const say = text => {
    for (;;) {
      try { return writeSync(1, text + '\\n') } catch (error) { if (error.code !== 'EAGAIN') throw error }
    }
  }
  const fail = what => { say('fault ' + what) }
  const events = { onProblem: fail, onRecovered() {}, onAlarm: fail, onDeath: fail }
  const ledger = await openLedger('sqlite:' + path, { clock: systemClock, events })
  const usage = { inputTokens: 1, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 2, searchUnits: 0, durationMs: 0, characters: 0, images: 0 }
  say('recovered ' + await ledger.recover(Date.now()))
  const client = async me => {
    for (let n = 0; ; n++) {
      const requestId = round + '-' + me + '-' + n
      const claim = { requestId, attempt: 1, key: 'k' + me % 3, tenant: 'acme', publication: 'm', endpoint: 'e' }
      const openedAtMs = Date.now(), deadlineMs = openedAtMs + 60_000
      await ledger.open({ ...claim, openedAtMs, deadlineMs, amountNano: 9n, tokens: 9, inputTokens: 1, inputAmountNano: 1n })
      say('hold ' + requestId)
      const end = { ...claim, kind: 'settle', endedAtMs: Date.now(), amountNano: 3n, usage, flags: [],
        stored: { ids: ['resp-' + requestId, 'msg-' + requestId], tokens: 3, outputTokens: 1, expiresAtMs: Date.now() + 3_600_000 } }
      await ledger.end(n % 4 === 0 ? { ...claim, kind: 'release', endedAtMs: Date.now(), reason: 'x' } : end)
      say((n % 4 === 0 ? 'release ' : 'settle ') + requestId)
    }
  }
  await Promise.all(Array.from({ length: 20 }, (_, me) => client(me)))
`

test(`after each of ${ROUNDS} times kill -9 in full flight: no row lost that was acknowledged, none twice`, async () => {
  const folder = tempDir(onTestFinished)
  const path = folder.at('gw.db')
  const store = await openStore('sqlite:gw.db', { mode: 'create', clock: systemClock, folder: folder.path })
  onTestFinished(() => store.close())
  const acknowledged: string[] = []
  const recovered: number[] = []
  let unfoldedRows = 0

  for (let round = 0; round < ROUNDS; round++) {
    const child = run(WRITE, path, String(round))
    const enough = 40 + 61 * round
    let count = 0
    for await (const line of createInterface({ input: child.stdout })) {
      const [what, id] = line.split(' ')
      if (what === 'recovered') recovered.push(Number(id))
      else acknowledged.push(line)
      count += 1
      if (count === enough) child.kill('SIGKILL')
    }
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    const found = await store.accounting.verify()
    expect(found).toMatchObject({ findings: [] })
    unfoldedRows += found.unfoldedRows
  }

  // The next start reads what the last process left in its journal.
  const ledger = await openLedger(`sqlite:${path}`, {
    clock: systemClock,
    events: { onProblem: fail, onRecovered: () => undefined, onAlarm: fail, onDeath: fail },
    thread: new LedgerThread(WORKER_URL),
  })
  expect(await ledger.close()).toBe(0)
  expect(await store.accounting.verify()).toMatchObject({ findings: [], unfoldedRows: 0 })
  expect(unfoldedRows).toBeGreaterThan(0)

  expect(acknowledged.filter(line => line.startsWith('fault'))).toEqual([])
  const raw = new Database(path, { readonly: true })
  onTestFinished(() => void raw.close())
  const ended = `select iif(kind = 0, 'settle ', 'release ') || request from ledger`
  const held = `select 'hold ' || request from ledger union all select 'hold ' || request_id from open_holds`
  const rows = raw.prepare(`${ended} union all ${held}`).pluck().all() as string[]
  const written = new Set(rows)
  expect(rows).toHaveLength(written.size)
  expect(acknowledged.filter(line => !written.has(line))).toEqual([])
  expect(acknowledged.length).toBeGreaterThan(ROUNDS * 100)
  const settled = raw
    .prepare(`select request from ledger where kind = 0 and flags = 0`)
    .pluck()
    .all() as string[]
  const ids = raw.prepare('select id from stored_responses').pluck().all() as string[]
  // What the next start has settled has flags: the ids of those answers are unknown.
  expect(ids.toSorted()).toEqual(settled.flatMap(id => [`resp-${id}`, `msg-${id}`]).toSorted())
  // Each start has settled what the process before it had in flight, if it had.
  expect(recovered).toHaveLength(ROUNDS)
  expect(recovered.some(count => count > 0)).toBe(true)
})

test('a process that is asked to end has committed everything that it took', async () => {
  const { ledger, store } = await openBoth()
  const deadlineMs = Date.now() + 60_000
  const all = Array.from({ length: 3_000 }, (_, i) => ledger.open(hold(`req_${i}`, { deadlineMs })))
  expect(await ledger.close()).toBe(0)
  await Promise.all(all)
  expect(await store.accounting.verify()).toEqual(verified({ openHolds: 3_000 }))
})
