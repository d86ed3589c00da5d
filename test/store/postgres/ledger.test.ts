import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { type Hold, UndecidedHold } from '../../../src/schema/ledger.ts'
import { USAGE_COLUMNS } from '../../../src/store/ledger/columns.ts'
import { LedgerThread } from '../../../src/store/ledger/ledger-thread.ts'
import { openLedger } from '../../../src/store/ledger/open-ledger.ts'
import { openStore } from '../../../src/store/open.ts'
import { parsePostgresUrl } from '../../../src/store/postgres/address.ts'
import { EndJournal } from '../../../src/store/postgres/ledger/end-journal.ts'
import { insertInstance } from '../../../src/store/postgres/ledger/instance-rows.ts'
import { type Database, LaneConnection } from '../../../src/store/postgres/ledger/lane-connection.ts'
import { ownIdentity } from '../../../src/store/postgres/ledger/process-identity.ts'
import { recoverInstances } from '../../../src/store/postgres/ledger/recovery.ts'
import type { RegisteredInstance } from '../../../src/store/shares/registry.ts'
import { faultyWay } from '../../support/faulty-way.ts'
import { changeSetting, storeDatabase } from '../../support/postgres.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { WORKER_URL } from '../ledger/opened.ts'
import { call, hold, NOON_MS, release, settle } from '../ledger/rows.ts'

interface OpenOptions {
  readonly leaseMs?: number
  readonly openTimeoutMs?: number
  /** Another way to the database. */
  readonly url?: string
}

async function setUp() {
  const database = await storeDatabase(onTestFinished)
  const events: string[] = []
  const folder = tempDir(onTestFinished).path
  const open = async ({ url = database.url, ...more }: OpenOptions = {}) => {
    const ledger = await openLedger(url, {
      clock: systemClock,
      folder,
      events: {
        onProblem: message => events.push(`problem: ${message}`),
        onRecovered: () => events.push('recovered'),
        onAlarm: message => events.push(`alarm: ${message}`),
        onDeath: (error, canBill) => events.push(`${canBill ? 'fenced' : 'death'}: ${error.message}`),
      },
      thread: new LedgerThread(WORKER_URL),
      ...more,
    })
    onTestFinished(() => ledger.close(500).then(() => undefined))
    return ledger
  }
  return { database, events, folder, open, ledger: await open() }
}

// The first database of a file waits for the server to start, which takes long on a busy machine.
beforeAll(() => storeDatabase(afterAll).then(() => undefined), 60_000)

describe('the ledger in PostgreSQL', () => {
  test('acknowledges each hold, its durability and its end, however they overlap', async () => {
    const { ledger, database, events } = await setUp()
    await Promise.all(
      Array.from({ length: 120 }, async (_, at) => {
        await pause(Math.random() * 300)
        const number = await ledger.open(hold(`r${at}`))
        await ledger.durable(number)
        if (at % 3 === 0) await pause(Math.random() * 20)
        await ledger.end(at % 5 === 0 ? release(`r${at}`) : settle(`r${at}`))
        ledger.log(call(`r${at}`))
      }),
    )
    expect(await ledger.sums([{ key: 'app', sinceMs: NOON_MS }])).toEqual([
      { key: 'app', totalTokens: 96 * 400, totalNano: 96n * 400n, windowNano: 96n * 400n },
    ])
    expect(await database.query('select count(*)::int as n from ledger')).toEqual([{ n: 120 }])
    expect(events).toEqual([])
  })

  test('writes the lines of calls with the next ends, and the last one soon by itself', async () => {
    const { ledger, database } = await setUp()
    for (let at = 0; at < 5; at++) {
      await ledger.open(hold(`r${at}`))
      await ledger.end(settle(`r${at}`))
      ledger.log(call(`r${at}`))
    }
    const count = async (sql: string) => (await database.query<{ n: number }>(sql))[0]?.n
    await expect.poll(() => count('select count(*)::int as n from call_logs')).toBe(5)
    expect(
      await count(
        'select count(*)::int as n from call_logs where xmin::text in (select xmin::text from ledger)',
      ),
    ).toBeGreaterThan(0)
  })

  test('ends a hold once: the first end is final', async () => {
    const { ledger, events } = await setUp()
    await ledger.open(hold('a'))
    await ledger.end(settle('a'))
    await ledger.end(settle('a'))
    expect(events).toEqual([])
    await ledger.end(settle('a', { amountNano: 7n }))
    await ledger.end(settle('never'))
    expect(events).toEqual([
      expect.stringContaining('has ended before, in another way'),
      expect.stringContaining('there never was such a hold'),
    ])
  })

  test('has no hold of a gateway that is fenced, and still its ends', async () => {
    const { ledger, database, events } = await setUp()
    await ledger.open(hold('before'))
    await database.execute('update instances set is_fenced = 1')
    await expect(ledger.open(hold('after'))).rejects.toMatchObject({ code: 'unavailable' })
    expect(ledger.healthy).toBe(false)
    await ledger.end(settle('before'))
    expect(events).toEqual([expect.stringContaining('fenced: this gateway gave no sign of life')])
    expect(await database.query('select count(*)::int as holds from holds')).toEqual([{ holds: 1 }])
    expect(await database.query('select count(*)::int as ends from ledger')).toEqual([{ ends: 1 }])
  })

  test('releases a hold that the store has, but whose answer was lost before the gateway was fenced', async () => {
    const { database, events, open } = await setUp()
    const port = Number(new URL(database.url).port)
    const way = await faultyWay(port, onTestFinished)
    const ledger = await open({ openTimeoutMs: 100, url: database.url.replace(`:${port}/`, `:${way.port}/`) })
    const today = { openedAtMs: Date.now(), deadlineMs: Date.now() + 60_000 }
    // Its names and its partition are known then, so that the next hold itself is what is sent.
    await ledger.open(hold('first', today))
    await ledger.end(release('first'))
    way.set('stall answers')
    const rejected = (await ledger
      .open(hold('lost', today))
      .catch((error: unknown) => error)) as UndecidedHold
    expect(rejected).toBeInstanceOf(UndecidedHold)
    await expect.poll(() => database.query('select attempt from holds')).toHaveLength(2)
    way.set('cut')
    await database.execute('update instances set is_fenced = 1')
    way.set('open')
    await rejected.decided
    expect(await database.query('select kind from ledger')).toEqual([{ kind: 1 }, { kind: 1 }])
    expect(events).toContainEqual(expect.stringContaining('fenced: this gateway gave no sign of life'))
  })

  test('knows that it is fenced also without a call', async () => {
    const { open, database, events } = await setUp()
    const idle = await open({ leaseMs: 1_000 })
    await database.execute('update instances set is_fenced = 1')
    await expect.poll(() => idle.healthy).toBe(false)
    expect(events).toContainEqual(expect.stringContaining('fenced: this gateway gave no sign of life'))
  })

  test('leaves the open calls of a fenced gateway alone that lives, whatever its clock says', async () => {
    const { ledger, database, open, events } = await setUp()
    // Its deadline is long over for the others.
    await ledger.open(hold('open', { openedAtMs: NOON_MS, deadlineMs: NOON_MS + 60_000 }))
    await database.execute('update instances set is_fenced = 1')
    const next = await open()
    expect(await next.recover(Date.now())).toBe(0)
    await ledger.end(settle('open'))
    expect(await next.recover(Date.now())).toBe(0)
    expect(await database.query('select amount_nano::int as amount from ledger')).toEqual([{ amount: 400 }])
    expect(events.filter(text => text.startsWith('alarm'))).toEqual([])
  })

  test('settles what a gateway left whose process has ended, and forgets it', async () => {
    const { ledger, database, open } = await setUp()
    await ledger.open(hold('left', { call: { path: '/v1/chat/completions', stream: true } }))
    await database.execute('update instances set pid = 1, process_start = 0')
    const next = await open()
    expect(await next.recover(NOON_MS + 5_000)).toBe(1)
    await next.flush()
    expect(await database.query('select amount_nano::int as amount, flags from ledger')).toEqual([
      { amount: 110, flags: 17 },
    ])
    // With the hold in the sums, nothing is left of the instance.
    expect(await next.recover(NOON_MS + 6_000)).toBe(0)
    expect(await database.query('select tokens::int as tokens from key_totals')).toEqual([{ tokens: 110 }])
    expect(await database.query('select count(*)::int as n from instances')).toEqual([{ n: 1 }])
    expect(await database.query('select count(*)::int as n from call_logs')).toEqual([{ n: 1 }])
  })

  test('frees the share of a gateway that has ended only for ends that are in the sums, however late they come', async () => {
    const { ledger, database } = await setUp()
    await ledger.open(hold('left'))
    await database.execute('update instances set pid = 1, process_start = 0')
    const db = new LaneConnection(parsePostgresUrl(database.url, 'test'))
    onTestFinished(() => db.close())
    const own = await insertInstance(db, ownIdentity(), 60_000)
    // The server carries out what it has got of a process that is killed. Here: after the first look at what is left.
    let isLate = false
    const interrupted: Database = {
      async query(text, values) {
        const result = await db.query(text, values)
        if (!isLate && /open_holds|older_holds/.test(text)) {
          isLate = true
          await ledger.end(settle('left'))
        }
        return result
      },
    }
    const freed: unknown[] = []
    const shares = {
      async recover(_id: string, open: readonly Hold[]) {
        const [sums] = await database.query<{ tokens: number }>(
          'select tokens::int as tokens from key_totals',
        )
        freed.push({ kept: open.map(({ tokens }) => tokens), spent: sums?.tokens ?? 0 })
        return false
      },
    }
    const options = { tickMs: 0, fencedSinceMs: new Map<string, number>(), mayExpire: false }
    const recover = (at: Database) =>
      recoverInstances(at, shares as never, own, {
        ...options,
        left: { write: () => Promise.resolve(), remove: () => undefined },
        foldOwn: async () => void freed.push('after own ends'),
      })
    expect(await recover(interrupted)).toMatchObject([{ requestId: 'left' }])
    expect(isLate).toBe(true)
    expect(await recover(db)).toEqual([])
    expect(freed).toEqual(['after own ends', { kept: [], spent: 400 }])
  })

  test('frees the share of a gateway only with the ends in the sums that another one wrote, which was fenced meanwhile', async () => {
    const { ledger, database, open } = await setUp()
    const today = { openedAtMs: Date.now(), deadlineMs: Date.now() + 60_000 }
    await ledger.open(hold('left', today))
    await open()
    const [one, other] = (
      await database.query<{ id: string }>('select id from instances order by serial')
    ).map(({ id }) => id) as [string, string]
    await database.execute(`update instances set is_fenced = 1, fenced_by = '${other}' where id = '${one}'`)
    const db = new LaneConnection(parsePostgresUrl(database.url, 'test'))
    onTestFinished(() => db.close())
    const own = await insertInstance(db, ownIdentity(), 60_000)
    // Between the list of instances and the fence a third gateway fences the recoverer, which has ended the hold by then.
    const overtaken: Database = {
      async query(text, values) {
        if (/set is_fenced = 1, fenced_by/.test(text) && values?.[0] === one) {
          await database.execute(`
            insert into ledger (instance, kind, at_ms, opened_at_ms, request, attempt, key_id, tenant_id, publication_id,
              endpoint_id, amount_nano, ${USAGE_COLUMNS.join(', ')}, flags)
            select (select serial from instances where id = '${other}'), 0, opened_at_ms, opened_at_ms, request, attempt,
              key_id, tenant_id, publication_id, endpoint_id, 400, 300, 0, 0, 100, 0, 0, 0, 0, 0 from holds;
            update instances set is_fenced = 1 where id = '${other}'`)
        }
        return db.query(text, values)
      },
    }
    const spent: unknown[] = []
    const shares = {
      async recover(id: string) {
        const [sums] = await database.query<{ tokens: number }>(
          'select tokens::int as tokens from key_totals',
        )
        if (id === one) spent.push(sums?.tokens)
        return false
      },
    }
    await recoverInstances(overtaken, shares as never, own, {
      tickMs: 0,
      fencedSinceMs: new Map(),
      mayExpire: false,
      left: { write: () => Promise.resolve(), remove: () => undefined },
      foldOwn: () => Promise.resolve(),
    })
    expect(spent).toEqual([400])
  })

  test.each([
    ['its machine has started again', "process_space = 'an earlier boot', is_fenced = 1"],
    ['its process has ended', 'pid = 1, process_start = 0'],
  ])('writes the ends that a gateway has left in its journal: %s', async (_, change) => {
    const { ledger, database, folder, open, events } = await setUp()
    await ledger.open(hold('left'))
    const [{ id }] = (await database.query<{ id: string }>('select id from instances')) as [{ id: string }]
    const [{ name }] = (await database.query('select current_database() as name')) as [{ name: string }]
    const root = join(folder, 'data', `postgres-${name}`)
    const journal = new EndJournal(root, id, {
      clock: systemClock,
      onProblem: error => events.push(error.message),
    })
    await journal.append(hold('left'), settle('left'))
    await journal.close(false)
    await database.execute(`update instances set ${change} where id = '${id}'`)
    const next = await open()
    expect(await next.recover(Date.now())).toBe(0)
    expect(await database.query('select amount_nano::int as amount from ledger')).toEqual([{ amount: 400 }])
    expect(await next.recover(Date.now())).toBe(0)
    expect(await database.query('select id from instances')).toHaveLength(1)
    expect(readdirSync(root)).not.toContain(`ends-${id}`)
    expect(next.queued, 'rows of others are not those that it waits for').toBe(0)
    expect(events.filter(text => text.startsWith('alarm'))).toEqual([])
  })

  test('an end by itself is no loss of the lease', async () => {
    const { open, events } = await setUp()
    for (let round = 0; round < 10; round++) await (await open({ leaseMs: 20 })).close(2_000)
    expect(events).toEqual([])
  })

  test('takes at once what a forgotten gateway has, although it lives: its first end is final, and it ends', async () => {
    const { ledger, database, open, events } = await setUp()
    await ledger.open(hold('open'))
    const store = await openStore(database.url, { mode: 'write', clock: systemClock })
    onTestFinished(() => store.close())
    const [{ id }] = (await store.instances.all()) as [RegisteredInstance]
    expect(await store.instances.all()).toMatchObject([
      { id, openCalls: 1, isFenced: false, isLeaseOver: false },
    ])
    expect(await store.instances.forget('none', true)).toEqual({ is: 'unknown' })
    expect(await store.instances.forget(id, false)).toEqual({ is: 'alive', canForce: true })
    expect(ledger.healthy).toBe(true)
    const next = await open()
    expect(await next.recover(Date.now())).toBe(0)
    expect(await store.instances.forget(id, true)).toEqual({ is: 'forgotten', shares: 0, openCalls: 1 })
    expect(await next.recover(Date.now())).toBe(1)
    await next.flush()
    expect(await next.recover(Date.now())).toBe(0)
    expect((await store.instances.all()).map(one => one.id)).not.toContain(id)
    await expect(ledger.open(hold('after'))).rejects.toMatchObject({ code: 'unavailable' })
    await ledger.end(settle('open'))
    expect(events).toEqual([
      expect.stringContaining('fenced: this gateway gave no sign of life'),
      expect.stringContaining('has ended before, in another way'),
    ])
    expect(await database.query('select amount_nano::int as amount from ledger')).toEqual([{ amount: 110 }])
  })

  test('adds up an end within seconds, also if no call comes after it', async () => {
    const { ledger, database } = await setUp()
    const totals = () => database.query('select tokens::int as tokens from key_totals')
    await ledger.open(hold('a'))
    await expect.poll(() => database.query('select id from older_holds'), { timeout: 15_000 }).toHaveLength(1)
    await ledger.end(settle('a'))
    await expect.poll(totals, { timeout: 15_000 }).toEqual([{ tokens: 400 }])
  })

  test('does not begin in a database that is only read, and says what to do', async () => {
    const { database, open } = await setUp()
    await changeSetting(database, 'default_transaction_read_only', 'on')
    await expect(open()).rejects.toMatchObject({
      code: 'store_unavailable',
      message: expect.stringContaining('read-only transaction'),
      hint: expect.stringContaining('replica'),
    })
  })

  test('goes on after all its connections were ended', async () => {
    const { ledger, database, events } = await setUp()
    await ledger.open(hold('a'))
    await database.execute(`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`)
    await ledger.end(settle('a'))
    await expect.poll(() => ledger.behind).toBe(false)
    const number = await ledger.open(hold('b'))
    await ledger.durable(number)
    await ledger.end(settle('b'))
    expect(events.filter(text => text.startsWith('alarm'))).toEqual([])
    expect(await database.query('select count(*)::int as n from ledger')).toEqual([{ n: 2 }])
  })
})
