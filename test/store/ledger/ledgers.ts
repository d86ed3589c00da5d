import { onTestFinished } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import type { StorePorts } from '../../../src/store/engine.ts'
import { describeFault } from '../../../src/store/ledger/alarms.ts'
import type { Row } from '../../../src/store/ledger/messages.ts'
import type { Accounting } from '../../../src/store/ledger/types.ts'
import { PostgresAccounting } from '../../../src/store/postgres/ledger/accounting.ts'
import { openPostgres } from '../../../src/store/postgres/open.ts'
import { storeDatabase } from '../../support/postgres.ts'
import { postgresWriter } from '../../support/postgres-writer.ts'
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
    const writer = await postgresWriter(database.url, nowMs)
    onTestFinished(() => writer.close())
    const engine = await openPostgres(database.url, { mode: 'write', clock, environment: {} })
    onTestFinished(() => engine.close())
    // Reports see all that is written here, and not only what was a second ago.
    const ports: StorePorts = {
      clock,
      read: async work => writer.fold().then(() => engine.read(work)),
      readBare: async work => writer.fold().then(() => engine.readBare(work)),
      write: async work => writer.fold().then(() => engine.write(work)),
      writeBare: async work => writer.fold().then(() => engine.writeBare(work)),
      clockOffMs: () => engine.clockOffMs(),
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
