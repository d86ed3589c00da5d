import { onTestFinished } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import type { StorePorts } from '../../../src/store/engine.ts'
import { describeFault } from '../../../src/store/ledger/alarms.ts'
import type { Row } from '../../../src/store/ledger/messages.ts'
import type { Accounting } from '../../../src/store/ledger/types.ts'
import { parsePostgresUrl } from '../../../src/store/postgres/address.ts'
import { PostgresAccounting } from '../../../src/store/postgres/ledger/accounting.ts'
import { LaneConnection } from '../../../src/store/postgres/ledger/lane-connection.ts'
import type { PostgresReport } from '../../../src/store/postgres/ledger/messages.ts'
import { PostgresWriter } from '../../../src/store/postgres/ledger/writer.ts'
import { openPostgres } from '../../../src/store/postgres/open.ts'
import { storeDatabase } from '../../support/postgres.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { TEST_ENGINE } from '../../support/test-engine.ts'
import { inMemory } from './in-memory.ts'

/** A ledger without threads: what writes, and what reports. */
export interface TestLedger {
  readonly accounting: Accounting
  /** Resolves when the rows are written or rejected; with the faults of holds and the alarms. */
  readonly write: (...rows: Row[]) => Promise<readonly string[]>
  /** From now on the tenant pays beforehand. */
  readonly prepaid: (tenant: string) => Promise<void>
  /** Statements past the ledger, that every engine knows. */
  readonly execute: (sql: string) => Promise<void>
}

const ENGINES: Readonly<Record<string, (nowMs: () => number) => Promise<TestLedger>>> = {
  async sqlite(nowMs) {
    const { book, accounting, prepaid, raw } = inMemory(nowMs)
    return {
      accounting,
      write: async (...rows) => [...book.write(rows).values()].map(describeFault),
      prepaid: async tenant => void prepaid(tenant),
      execute: async sql => void raw.exec(sql),
    }
  },
  async postgres(nowMs) {
    const database = await storeDatabase(onTestFinished)
    await database.execute(`
      insert into revisions (id, base, origin, created_at_ms, counts) values (1, 0, 'cli', 0, '{}');
      insert into resources (kind, name, spec, owner, created_revision, updated_revision, created_at_ms)
      select 'tenant', name, '{}', 'cli', 1, 1, 0 from unnest('{acme,beta}'::text[]) as name`)
    const clock = { ...systemClock, nowMs }
    const writer = await startWriter(database.url, nowMs)
    const engine = await openPostgres(database.url, { mode: 'write', clock, environment: {} })
    onTestFinished(() => engine.close())
    // Reports see all that is written here, and not only what was a second ago.
    const ports: StorePorts = {
      clock,
      read: async work => writer.fold().then(() => engine.read(work)),
      readBare: async work => writer.fold().then(() => engine.readBare(work)),
      write: async work => writer.fold().then(() => engine.write(work)),
      writeBare: async work => writer.fold().then(() => engine.writeBare(work)),
    }
    return {
      accounting: new PostgresAccounting(ports),
      write: (...rows) => writer.write(rows),
      prepaid: tenant =>
        database.execute(`update resources set spec = '{"billing":"prepaid"}' where name = '${tenant}'`),
      execute: sql => database.execute(sql),
    }
  },
}

/** The ledger of each engine, with the tenants acme and beta. The tests of its interface run on each. */
export const LEDGERS = Object.entries(ENGINES).filter(([engine]) => engine === (TEST_ENGINE ?? 'sqlite'))

/** The part of the thread, in this one. */
async function startWriter(url: string, nowMs: () => number = Date.now) {
  const address = parsePostgresUrl(url, 'test')
  const done = new Map<number, () => void>()
  const answers = new Map<number, () => void>()
  let faults: string[] = []
  let last = 0
  const report = (message: PostgresReport) => {
    if (message.is === 'held' || message.is === 'ended')
      for (const number of message.numbers) done.get(number)?.()
    else if (message.is === 'rejected') {
      faults.push(message.fault)
      done.get(message.number)?.()
    } else if (message.is === 'alarm' || message.is === 'problem') faults.push(message.message)
    else if (message.is === 'answered' || message.is === 'failed') answers.get(message.seq)?.()
  }
  const writer = await PostgresWriter.begin(
    { connect: () => new LaneConnection(address), clock: { ...systemClock, nowMs }, report },
    { batchRows: 500, leaseMs: 60_000, journalRoot: tempDir(onTestFinished).path },
  )
  onTestFinished(() => writer.close())
  return {
    async write(rows: readonly Row[]) {
      faults = []
      const numbered = rows.map(row => [++last, row] as const)
      const written = numbered.map(([number]) => new Promise<void>(resolve => done.set(number, resolve)))
      writer.receive({ items: numbered, cancelled: [] })
      await Promise.all(written)
      return faults
    },
    async fold() {
      const seq = ++last
      const answered = new Promise<void>(resolve => answers.set(seq, resolve))
      writer.receive({ items: [{ seq, query: { query: 'nothing' } }], cancelled: [] })
      await answered
    },
  }
}
