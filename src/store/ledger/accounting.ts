import type { Kysely } from 'kysely'
import type { KeySums, KeySumsQuery } from '../../schema/ledger.ts'
import type { Tables } from '../tables.ts'
import { archiveLedger, type BarePorts } from './archive/archive-ledger.ts'
import { archivesWithFiles, selectArchives } from './archive/archives.ts'
import { selectCalls } from './call-log.ts'
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
import { verifyLedger } from './verify/verify.ts'
import { adjust, selectWalletEntries, selectWallets } from './wallet.ts'

/** The store's read and write transactions. */
export interface AccountingPorts extends BarePorts {
  /** As `readBare` and `writeBare`, with Kysely. */
  readonly read: <T>(work: (db: Kysely<Tables>) => Promise<T>) => Promise<T>
  readonly write: <T>(work: (db: Kysely<Tables>) => Promise<T>) => Promise<T>
}

/** Reports, credits and debits on the store's ordinary connection. */
export class SqliteAccounting implements Accounting {
  readonly #ports: AccountingPorts

  constructor(ports: AccountingPorts) {
    this.#ports = ports
  }

  async wallet(tenant: string): Promise<Wallet> {
    const [wallet] = await this.#ports.read(db => selectWallets(db, tenant))
    return wallet ?? { tenant, balanceNano: 0n, heldNano: 0n }
  }

  wallets(): Promise<readonly Wallet[]> {
    return this.#ports.read(db => selectWallets(db))
  }

  walletEntries(tenant: string, page: EntriesPage = {}): Promise<readonly WalletEntry[]> {
    return this.#ports.read(db => selectWalletEntries(db, tenant, page))
  }

  credit(adjustment: Adjustment): Promise<AdjustmentResult> {
    return this.#ports.write(db => adjust(db, 'credit', adjustment, this.#ports.clock.nowMs()))
  }

  debit(adjustment: Adjustment): Promise<AdjustmentResult> {
    return this.#ports.write(db => adjust(db, 'debit', adjustment, this.#ports.clock.nowMs()))
  }

  adjust(adjustment: Adjustment): Promise<AdjustmentResult> {
    return this.#ports.write(db => adjust(db, 'adjust', adjustment, this.#ports.clock.nowMs()))
  }

  use(query: UseQuery): Promise<readonly NamedUse[]> {
    return this.#ports.read(db => selectUse(db, query))
  }

  lastUse(query: UseQuery): Promise<ReadonlyMap<string, number>> {
    return this.#ports.read(db => selectLastUse(db, query))
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
    return this.#ports.read(db => selectCalls(db, query))
  }

  rejectedCalls(query: CallLogQuery = {}): Promise<readonly StoredRejection[]> {
    return this.#ports.read(db => selectRejected(db, query))
  }

  verify(watch?: VerifyWatch): Promise<Verification> {
    return this.#ports.readBare(async raw =>
      verifyLedger(raw, this.#ports.clock.nowMs(), await archivesWithFiles(raw, watch?.files ?? []), watch),
    )
  }

  archive(request: ArchiveRequest, watch?: ArchiveWatch): Promise<Archiving> {
    return archiveLedger(this.#ports, request, watch)
  }

  archives(): Promise<readonly Archive[]> {
    return this.#ports.readBare(async raw => selectArchives(raw))
  }
}
