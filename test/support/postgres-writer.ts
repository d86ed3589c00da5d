import { systemClock } from '../../src/base/clock.ts'
import type { Row } from '../../src/store/ledger/messages.ts'
import { parsePostgresUrl } from '../../src/store/postgres/address.ts'
import { LaneConnection } from '../../src/store/postgres/ledger/lane-connection.ts'
import type { PostgresReport } from '../../src/store/postgres/ledger/messages.ts'
import { PostgresWriter } from '../../src/store/postgres/ledger/writer.ts'

/** The part of the ledger's thread, in this one. */
export async function postgresWriter(url: string, nowMs: () => number = Date.now) {
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
    { batchRows: 500, leaseMs: 60_000, journalRoot: '/nonexistent' },
  )
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
    close: () => writer.close(),
  }
}
