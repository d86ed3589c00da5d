import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/base/clock.ts'
import { type PostgresAddress, parsePostgresUrl } from '../../../src/store/postgres/address.ts'
import {
  LaneConnection,
  type Result,
  type Value,
} from '../../../src/store/postgres/ledger/lane-connection.ts'
import type { PostgresReport } from '../../../src/store/postgres/ledger/messages.ts'
import { PostgresWriter } from '../../../src/store/postgres/ledger/writer.ts'
import { storeDatabase, type TestDatabase } from '../../support/postgres.ts'
import { call, hold, release, settle } from '../ledger/rows.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await storeDatabase(afterAll)
}, 60_000)

/** Loses its connection after it has carried out chosen statements, before their results arrive. */
class BreakingConnection extends LaneConnection {
  /** Counted from the moment when they are set. */
  losses: readonly number[] = []
  statements = 0

  override async query(text: string, values?: readonly Value[]): Promise<Result> {
    const result = await super.query(text, values)
    this.statements++
    if (this.losses.includes(this.statements))
      await super.query('select pg_terminate_backend(pg_backend_pid())')
    return result
  }
}

let requests = 0
const requestIds = (count: number) =>
  Array.from({ length: count }, () => `req_${String(++requests).padStart(24, '0')}`)

/** A writer whose reports are counted by number. */
async function brokenWriter(address: PostgresAddress) {
  const connections: BreakingConnection[] = []
  const problems: string[] = []
  const seen = new Map<number, number>()
  let onReport = () => {}
  const report = (message: PostgresReport) => {
    if (message.is === 'held' || message.is === 'ended')
      for (const number of message.numbers) seen.set(number, (seen.get(number) ?? 0) + 1)
    if (message.is === 'rejected' || message.is === 'alarm') problems.push(JSON.stringify(message))
    if (message.is === 'problem' || message.is === 'recovered') problems.push(message.is)
    onReport()
  }
  const connect = () => {
    const connection = new BreakingConnection(address)
    connections.push(connection)
    return connection
  }
  const writer = await PostgresWriter.begin(
    { connect, clock: systemClock, report },
    { batchRows: 500, leaseMs: 60_000, journalRoot: '/nonexistent' },
  )
  onTestFinished(() => writer.close())
  const [, holds, ends] = connections as [BreakingConnection, BreakingConnection, BreakingConnection]
  /** Resolves when each number was reported. */
  const reported = (numbers: readonly number[]) =>
    new Promise<void>(resolve => {
      onReport = () => {
        if (numbers.every(number => seen.has(number))) resolve()
      }
      onReport()
    })
  return { writer, lanes: { holds, ends }, problems, seen, reported }
}

const PAIRS = Array.from({ length: 6 }, (_, index) => index + 1).flatMap(first =>
  [1, 2, 3, 4, 5, 6, 7].map(more => [first, first + more] as const),
)

describe.each(['holds', 'ends'] as const)('the connection of %s is lost twice:', lane => {
  test.each(PAIRS)('after the statements %i and %i each row is written once', async (...losses) => {
    const { writer, lanes, problems, seen, reported } = await brokenWriter(
      parsePostgresUrl(database.url, 'test'),
    )
    const ids = requestIds(3)
    const [first = '', second = '', third = ''] = ids
    lanes[lane].losses = losses
    lanes[lane].statements = 0
    const holds = ids.map((id, index) => [index + 1, ['hold', hold(id)]] as const)
    const ends = [
      [4, ['end', settle(first)]],
      [5, ['end', release(second)]],
      [6, ['log', call(first)]],
      [7, ['end', settle(third)]],
    ] as const
    writer.receive({ items: holds, cancelled: [] })
    await reported([1, 2, 3])
    writer.receive({ items: ends, cancelled: [] })
    await reported([4, 5, 6, 7])
    // What waits behind them is written as well.
    const [last = ''] = requestIds(1)
    writer.receive({
      items: [
        [8, ['hold', hold(last)]],
        [9, ['end', release(last)]],
      ],
      cancelled: [],
    })
    await reported([8, 9])
    expect([...seen.values()]).toEqual(Array.from({ length: 9 }, () => 1))
    expect(problems.filter(problem => problem !== 'problem' && problem !== 'recovered')).toEqual([])
    await expect.poll(() => problems.at(-1) ?? 'recovered').toBe('recovered')
    const rows = await database.query(
      `select (select count(*)::int from ledger where request = any($1)) as ends,
        (select count(*)::int from holds where request = any($1)) as holds`,
      [[...ids, last].map(id => Buffer.from(id.slice(4), 'hex'))],
    )
    expect(rows).toEqual([{ ends: 4, holds: 4 }])
  })
})
