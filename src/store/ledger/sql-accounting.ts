import type { Kysely } from 'kysely'
import type { KeySums, KeySumsQuery } from '../../schema/ledger.ts'
import type { SharedLimit } from '../../schema/shares.ts'
import type { StorePorts } from '../engine.ts'
import type { Tables } from '../tables.ts'
import { selectCalls } from './call-log.ts'
import type { LedgerDialect } from './dialect.ts'
import { selectKeySums, selectLastUse, selectPeaks, selectUse } from './recent-use.ts'
import { selectRejected } from './rejected-calls.ts'
import type {
  Accounting,
  Adjustment,
  AdjustmentResult,
  Archive,
  ArchiveRequest,
  ArchiveWatch,
  Archiving,
  CallLogQuery,
  EntriesPage,
  NamedUse,
  NodeUse,
  NodeUseQuery,
  PeakUse,
  StoredCall,
  StoredRejection,
  UsageQuery,
  UsageRow,
  UseQuery,
  Verification,
  VerifyWatch,
  Wallet,
  WalletEntry,
} from './types.ts'
import { selectUsage } from './usage-report.ts'
import { adjust, selectWalletEntries, selectWallets } from './wallet.ts'

/** How soon gateways return what they do not use of a balance: they look every tenth of a second. */
const RETURNED_WITHIN_MS = 1_000
const TRY_AGAIN_MS = 50

/** The store's transactions with Kysely. */
export interface SqlPorts extends Pick<StorePorts, 'clock' | 'read'> {
  readonly write: <T>(work: (db: Kysely<Tables>) => Promise<T>) => Promise<T>
}

/** Reports, credits and debits on the store's ordinary connections, by queries that all engines share. */
export abstract class SqlAccounting implements Accounting {
  readonly #ports: SqlPorts
  readonly #dialect: LedgerDialect

  constructor(ports: SqlPorts, dialect: LedgerDialect) {
    this.#ports = ports
    this.#dialect = dialect
  }

  async wallet(tenant: string): Promise<Wallet> {
    const [wallet] = await this.#ports.read(db => selectWallets(db, tenant))
    return wallet ?? { tenant, balanceNano: 0n, heldNano: 0n }
  }

  wallets(): Promise<readonly Wallet[]> {
    return this.#ports.read(db => selectWallets(db))
  }

  walletEntries(tenant: string, page: EntriesPage = {}): Promise<readonly WalletEntry[]> {
    return this.#ports.read(async db => {
      await this.#dialect.lockEntries(db)
      return selectWalletEntries(db, tenant, page, this.#dialect)
    })
  }

  credit(adjustment: Adjustment): Promise<AdjustmentResult> {
    return this.#adjust('credit', adjustment)
  }

  debit(adjustment: Adjustment): Promise<AdjustmentResult> {
    return this.#adjust('debit', adjustment)
  }

  adjust(adjustment: Adjustment): Promise<AdjustmentResult> {
    return this.#adjust('adjust', adjustment)
  }

  /** A debit may have to wait until gateways have returned what they do not use of the balance. */
  async #adjust(kind: Parameters<typeof adjust>[1], adjustment: Adjustment): Promise<AdjustmentResult> {
    const { clock, write } = this.#ports
    const untilMs = clock.monotonicMs() + RETURNED_WITHIN_MS
    for (;;) {
      const canWait = clock.monotonicMs() < untilMs
      const result = await write(db =>
        adjust(db, kind, adjustment, { nowMs: clock.nowMs(), canWait }, this.#dialect),
      )
      if (result) return result
      await new Promise<void>(resolve => clock.after(TRY_AGAIN_MS, resolve))
    }
  }

  use(query: UseQuery): Promise<readonly NamedUse[]> {
    return this.#ports.read(db => selectUse(db, query))
  }

  lastUse(query: UseQuery): Promise<ReadonlyMap<string, number>> {
    return this.#ports.read(db => selectLastUse(db, query, this.#dialect))
  }

  peaks(query: UseQuery): Promise<ReadonlyMap<string, PeakUse>> {
    return this.#ports.read(db => selectPeaks(db, query))
  }

  keySums(queries: readonly KeySumsQuery[]): Promise<readonly KeySums[]> {
    return this.#ports.read(db => selectKeySums(db, queries))
  }

  usage(query: UsageQuery): Promise<readonly UsageRow[]> {
    return this.#ports.read(db => selectUsage(db, query))
  }

  callLogs(query: CallLogQuery = {}): Promise<readonly StoredCall[]> {
    return this.#ports.read(db => selectCalls(db, query, this.#dialect))
  }

  rejectedCalls(query: CallLogQuery = {}): Promise<readonly StoredRejection[]> {
    return this.#ports.read(db => selectRejected(db, query))
  }

  abstract nodeUse(query: NodeUseQuery): Promise<readonly NodeUse[]>
  abstract sharedLimits(owners: readonly string[]): Promise<readonly SharedLimit[]>
  abstract verify(watch?: VerifyWatch): Promise<Verification>
  abstract archive(request: ArchiveRequest, watch?: ArchiveWatch): Promise<Archiving>
  abstract archives(): Promise<readonly Archive[]>
}
