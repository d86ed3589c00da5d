import { expect, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import type { PostgresConnections } from '../../../src/store/postgres/connection.ts'
import { PostgresEngine } from '../../../src/store/postgres/engine.ts'
import { PostgresAccounting } from '../../../src/store/postgres/ledger/accounting.ts'

const HOUR_MS = 3_600_000

test('statements over the whole ledger may take hours, others a minute', async () => {
  const granted: (number | undefined)[] = []
  const connections = {
    use: async (_work: unknown, queryMs?: number) => {
      granted.push(queryMs)
      throw new Error('no server')
    },
  } as unknown as PostgresConnections
  const engine = new PostgresEngine(connections, { clock: systemClock, warn: () => undefined } as never)
  const accounting = new PostgresAccounting({
    read: work => engine.read(work),
    readBare: (work, effort) => engine.readBare(work, effort),
    write: (work, effort) => engine.write(work, effort),
    writeBare: (work, effort) => engine.write(async (_, raw) => work(raw), effort),
    clockOffMs: async () => 0,
    clock: systemClock,
  })
  await expect(accounting.verify()).rejects.toThrow('no server')
  await expect(accounting.archive({ path: '/nonexistent', beforeMs: 0 } as never)).rejects.toThrow(
    'no server',
  )
  await expect(accounting.archives()).rejects.toThrow('no server')
  expect(granted.map(ms => (ms ?? 0) > HOUR_MS)).toEqual([true, true, false])
})
