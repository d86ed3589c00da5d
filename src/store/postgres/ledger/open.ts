import { resolve } from 'node:path'
import { CommandError } from '../../../base/catalogue/command.ts'
import type { Clock } from '../../../base/clock.ts'
import type { LedgerThread } from '../../ledger/ledger-thread.ts'
import type { Ledger, LedgerEvents } from '../../ledger/types.ts'
import { parsePostgresUrl } from '../address.ts'
import { EndJournal } from './end-journal.ts'
import type { PostgresReport } from './messages.ts'
import { PostgresLedger } from './postgres-ledger.ts'

/** As `OpenLedgerOptions`. */
interface OpenOptions {
  readonly clock: Clock
  readonly events: LedgerEvents
  readonly maxUnfolded?: number
  readonly openTimeoutMs?: number
  readonly batchRows?: number
  readonly leaseMs?: number
  readonly folder?: string
}

/** Longer than a pause of a process or a restart of the server usually takes. */
const LEASE_MS = 10_000

/** @throws {CommandError} usage, store_unavailable */
export async function openPostgresLedger(
  thread: LedgerThread,
  url: string,
  options: OpenOptions,
): Promise<Ledger> {
  const { clock, events, openTimeoutMs = 2_000, maxUnfolded = 200_000 } = options
  const { batchRows = 500, leaseMs = LEASE_MS } = options
  const address = parsePostgresUrl(url, '--store')
  const journalRoot = resolve(options.folder ?? '.', 'data', `postgres-${address.database}`)
  const { worker, first } = await thread.start({ address, batchRows, leaseMs, journalRoot })
  const report = first as PostgresReport
  if (report.is === 'unavailable') {
    const { message, hint } = report
    throw new CommandError('store_unavailable', message, hint === undefined ? {} : { hint })
  }
  if (report.is !== 'ready') throw new Error(`the ledger's thread reported ${report.is} before it was ready`)
  const onProblem = (error: Error) =>
    events.onProblem(`${journalRoot} cannot be written while the server is away: ${error.message}`)
  return new PostgresLedger(worker, {
    journal: new EndJournal(journalRoot, report.instance, { clock, onProblem }),
    clock,
    events,
    atTurnEnd: task => void setImmediate(task),
    maxQueued: maxUnfolded,
    openTimeoutMs,
  })
}
