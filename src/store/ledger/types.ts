import type { ArchiveHeader } from '../../schema/archive.ts'
import type {
  CallRecord,
  Flag,
  Hold,
  HoldEnd,
  KeySums,
  KeySumsQuery,
  RejectedCall,
  StoredResponse,
  Usage,
} from '../../schema/ledger.ts'
import type { Durability } from '../../schema/settings.ts'
import type { SharedLimit } from '../../schema/shares.ts'
import type { InstanceAnswers, InstanceQuery } from '../shares/instance-queries.ts'
import type { UsageSums } from './usage-sums.ts'

/**
 * Events of the ledger that no caller's promise can report. Each callback runs on the main thread and must not throw.
 */
export interface LedgerEvents {
  /**
   * Rows cannot be committed; called once per outage. The message, for the operator, names the database and the cause.
   */
  onProblem(message: string): void
  /** The outage is over, and all queued rows are committed. */
  onRecovered(): void
  /** A row contradicts the ledger and was not written: a bug in gw, or a charge that needs manual review. */
  onAlarm(message: string): void
  /**
   * The process should end: the writer has died, and nothing can be committed any more; or, with `canBill`, others have
   * taken over the limits of this gateway, which admits no more calls and still ends those in flight.
   */
  onDeath(error: Error, canBill: boolean): void
}

/**
 * The ledger as one gateway of a store uses it; also a `LedgerPort`. Rows and queries take effect in the order of
 * their calls: a sum includes exactly the ends that came before it.
 */
export interface Ledger {
  /** The lane of the gateway. */
  readonly lane: number
  /** False while the journal cannot be written, or too many rows wait for the store. */
  readonly healthy: boolean
  /** The store cannot be written, or does not answer: rows stay in the journal, and prepaid holds are rejected. */
  readonly behind: boolean
  /** Rows of the journal that are not in the store yet. */
  readonly queued: number
  /** Lines of the call log that were dropped since the start. */
  readonly droppedLogs: number

  /**
   * Resolves when the hold is written, so that it survives the process, with its number for `durable`.
   * @throws {BalanceShort} if the hold is prepaid and the balance does not cover it. {GwError} unavailable, if the hold
   * cannot be written. Nothing is held then, unless it is an UndecidedHold.
   */
  open(hold: Hold): Promise<number>
  /** What acknowledged rows survive from now on; `power` until it is called. */
  setDurability(durability: Durability): void
  /** Resolves when a hold survives a power cut as well; undefined if it does already. */
  durable(hold: number): Promise<void> | undefined
  /**
   * Resolves when the end is durable. Always accepted. A second end of the same hold is a no-op; one that differs, or
   * one without a hold, raises an alarm and writes nothing.
   * @throws {GwError} unavailable, if the ledger closed before.
   */
  end(end: HoldEnd): Promise<void>
  /** Queues a line of the call log; under pressure the line is dropped and counted. */
  log(record: CallRecord): void
  /** Collects rejected calls for a second, and writes a sample of them with their counts. */
  logRejected(call: RejectedCall): void

  /** One answer per query, in the same order. A key that was never billed has zeros. */
  sums(queries: readonly KeySumsQuery[]): Promise<readonly KeySums[]>
  balances(tenants: readonly string[]): Promise<Balances>
  /** Credits and debits of other processes since `version`. Cheap enough for once a second. */
  adjustments(sinceVersion: number): Promise<Adjustments>
  /**
   * One answer per id, in the same order; undefined for an id that is unknown or expired.
   * @param mayWait for what other gateways have not written to the store yet, if an id is unknown; by default it may.
   */
  stored(ids: readonly string[], mayWait?: boolean): Promise<readonly (StoredResponse | undefined)[]>

  /**
   * Settles the holds that an earlier process left open in the lane, at their input estimate, as `interrupted` and `estimated`.
   * Must complete before the first `open`. Returns how many holds it settled.
   */
  recover(nowMs: number): Promise<number>
  /**
   * Settles holds that are more than 60 s past their deadline and no longer known, at their input estimate, as `swept`
   * and `estimated`. Returns how many holds it settled.
   */
  sweep(nowMs: number, isKnown?: (requestId: string, attempt: number) => boolean): Promise<number>
  /**
   * Deletes at most `maxRows` lines of the call log older than `beforeMs`, oldest first. Returns how many it deleted.
   */
  pruneCallLogs(beforeMs: number, maxRows: number): Promise<number>
  /** Deletes at most `maxRows` ids of stored responses that have expired. Returns how many it deleted. */
  pruneStored(nowMs: number, maxRows: number): Promise<number>

  /**
   * About the gateways of the store, and the limits that they share. A question about shares is answered when all ends
   * that came before it are in the store.
   */
  ask<Query extends InstanceQuery>(query: Query): Promise<InstanceAnswers[Query['query']]>

  /** Resolves when everything queued before is committed. */
  flush(): Promise<void>
  /**
   * Commits the queued rows, for at most `withinMs` (10 s by default), ends the writer and releases the lease. Returns
   * how many rows could not be committed: 0, unless the database fails; `recover` settles their holds.
   */
  close(withinMs?: number): Promise<number>
}

/** Balances as of one moment, to be updated with the adjustments after `version`. */
export interface Balances {
  readonly version: number
  /** Credits − debits − settlements; negative if a postpaid tenant owes. Has an entry for each tenant of the query. */
  readonly balanceNano: ReadonlyMap<string, bigint>
}

export interface Adjustments {
  /** Pass it to the next call of `adjustments`. */
  readonly version: number
  /** Oldest first; a debit is negative. */
  readonly changes: readonly { readonly tenant: string; readonly amountNano: bigint }[]
}

/** Reports of the ledger, and credits and debits, available in any process: `store.accounting`. */
export interface Accounting {
  /** Zeros if the tenant has no entries. */
  wallet(tenant: string): Promise<Wallet>
  /** All tenants with a balance or a hold, by name. */
  wallets(): Promise<readonly Wallet[]>
  /** Newest first. */
  walletEntries(tenant: string, page?: EntriesPage): Promise<readonly WalletEntry[]>
  /**
   * Idempotent: the same reference with the same amount returns the first entry, with `isNew` false.
   * @throws {CommandError} not_found without such a tenant · reference_taken if the reference belongs to a different entry
   */
  credit(adjustment: Adjustment): Promise<AdjustmentResult>
  /**
   * As {@link credit}. The part of a prepaid balance that open calls hold cannot be debited, so the balance never falls
   * below 0. What several gateways have leased of it and do not use they return first, within a second.
   * @throws {CommandError} not_found, reference_taken · balance_too_low if the tenant is prepaid and its balance does not cover it
   */
  debit(adjustment: Adjustment): Promise<AdjustmentResult>
  /** As {@link credit} or, with a negative amount, as {@link debit}: corrects a charge. */
  adjust(adjustment: Adjustment): Promise<AdjustmentResult>

  /** Settled usage of each name; unused names are left out. */
  use(query: UseQuery): Promise<readonly NamedUse[]>
  /** When each name was last used, to a quarter of an hour. */
  lastUse(query: UseQuery): Promise<ReadonlyMap<string, number>>
  /** Endpoints without a call on a node are left out. */
  nodeUse(query: NodeUseQuery): Promise<readonly NodeUse[]>
  /** The peak use of each name. */
  peaks(query: UseQuery): Promise<ReadonlyMap<string, PeakUse>>
  /** What all gateways use of the limits of these owners; empty while a gateway is alone. @param owners Such as `key crm`, by account. */
  sharedLimits(owners: readonly string[]): Promise<readonly SharedLimit[]>
  /** One answer per query, in the same order; zeros for a key that was never billed. */
  keySums(queries: readonly KeySumsQuery[]): Promise<readonly KeySums[]>

  /** Settled usage, by the end time of the calls; largest amounts first, days in order. */
  usage(query: UsageQuery): Promise<readonly UsageRow[]>
  /** Newest first, or oldest first if the query has `after`. */
  callLogs(query?: CallLogQuery): Promise<readonly StoredCall[]>
  /** Calls that were rejected before dispatch, in the same order; their model is the requested one. */
  rejectedCalls(query?: CallLogQuery): Promise<readonly StoredRejection[]>
  /**
   * Recomputes the sums of all entries, as of one moment, and reports inconsistencies. At most 100 findings.
   * @throws the reason of `watch.signal`, once it is aborted
   */
  verify(watch?: VerifyWatch): Promise<Verification>
  /**
   * Moves the ends of calls before a time to a new file: writes the file, verifies the ledger with it, records it, and
   * then deletes its entries. Credits, debits and adjustments stay. First deletes what an interrupted run has left.
   * @throws {CommandError} file_exists · ledger_inconsistent, with nothing changed · reason of the signal, once it is aborted
   */
  archive(request: ArchiveRequest, watch?: ArchiveWatch): Promise<Archiving>
  /** Oldest first. */
  archives(): Promise<readonly Archive[]>
}

/** A file that has entries which the ledger does not have any more. */
export interface Archive {
  readonly id: number
  /** All its entries ended before. */
  readonly beforeMs: number
  readonly firstId: number
  readonly lastId: number
  readonly entries: number
  /** Its path when it was written. */
  readonly file: string
  readonly bytes: number
  /** Of the file, in hexadecimal digits. */
  readonly sha256: string
  readonly archivedAtMs: number
}

export interface ArchiveRequest {
  /** The absolute path of the file to write. */
  readonly path: string
  /** The start of a quarter of an hour. The newest entry of the ledger stays in any case, because its id must not be used again. */
  readonly beforeMs: number
  readonly currency: string
  /** Names of accounts that differ from them, for the header of the file. */
  readonly names?: ArchiveHeader['names']
}

export interface ArchiveWatch {
  readonly onProgress?: (step: 'write' | 'verify' | 'delete', entries: number, ofEntries: number) => void
  readonly signal?: AbortSignal
}

export interface Archiving {
  /** Undefined if there was nothing to archive: then there is no file. */
  readonly archive: Archive | undefined
  /** How many entries were deleted; with those that an interrupted run has left. */
  readonly deleted: number
  /** The newest entry, of that time as well, stays until there is a later one: its id must not be used again. */
  readonly isNewestLeft?: true
}

export interface Wallet {
  readonly tenant: string
  readonly balanceNano: bigint
  /** The part of the balance that open holds reserve. */
  readonly heldNano: bigint
}

/** An entry that changed a balance. `amountNano` is the change: negative for settlements and debits. */
export interface WalletEntry {
  readonly id: number
  readonly kind: 'settle' | 'credit' | 'debit' | 'adjust'
  readonly atMs: number
  readonly amountNano: bigint
  /** Of credits, debits and adjustments. */
  readonly reference?: string
  readonly note?: string
  readonly author?: string
  /** Of settlements. */
  readonly requestId?: string
  readonly key?: string
  readonly publication?: string
  readonly usage?: Usage
  /** The price that the charge is based on, see `priceText`. */
  readonly price?: string
  readonly flags: readonly Flag[]
}

export interface EntriesPage {
  /** Only entries with a smaller id. */
  readonly before?: number
  /** 50 by default. */
  readonly limit?: number
  /** All by default. */
  readonly kinds?: readonly WalletEntry['kind'][]
}

export interface Adjustment {
  readonly tenant: string
  /** Greater than 0; for `adjust` the change of the balance, positive or negative. */
  readonly amountNano: bigint
  /** Unique within the tenant: for example an invoice or a payment. */
  readonly reference: string
  readonly note?: string
  readonly author?: string
}

export interface AdjustmentResult {
  readonly entry: WalletEntry
  /** False if the reference already existed. */
  readonly isNew: boolean
  readonly balanceNano: bigint
}

/** Names of one kind, and the start of the time span. */
export interface UseQuery {
  readonly by: 'key' | 'tenant' | 'publication' | 'endpoint'
  readonly names: readonly string[]
  /** Rounded down to a quarter of an hour. */
  readonly sinceMs: number
}

export interface NamedUse {
  readonly name: string
  /** For `by: 'publication'` there is a row per endpoint that served it. Otherwise empty. */
  readonly endpoint: string
  readonly requests: number
  /** Input and output. */
  readonly tokens: number
  readonly amountNano: bigint
  /** The start of the last quarter of an hour in which it was used. */
  readonly lastUsedAtMs: number
}

/** The average minute of the busiest quarter of an hour. */
export interface PeakUse {
  readonly requestsPerMinute: number
  readonly tokensPerMinute: number
}

/** Nodes, and the start of the time span. */
export interface NodeUseQuery {
  readonly nodes: readonly string[]
  readonly sinceMs: number
}

/** The calls of an endpoint on a node, as far as the call log has them. */
export interface NodeUse {
  readonly node: string
  readonly endpoint: string
  readonly requests: number
}

export interface UsageQuery extends UsageFilters {
  readonly by: 'key' | 'tenant' | 'model' | 'endpoint' | 'day' | 'hour'
  /** A second dimension: a row for each pair. */
  readonly split?: 'key' | 'tenant' | 'model' | 'endpoint'
  /** Both are rounded to a quarter of an hour: `sinceMs` down, `untilMs` up. */
  readonly sinceMs: number
  readonly untilMs: number
  /** The time zone of days, such as `Europe/Berlin`; UTC by default. */
  readonly timezone?: string
}

export interface UsageFilters {
  readonly key?: string
  readonly tenant?: string
  readonly publication?: string
  readonly endpoint?: string
}

export interface UsageRow extends UsageSums {
  /** A name, a day such as `2026-03-29`, or the start of an hour such as `2026-03-29T13:00:00.000Z`; empty for calls of platform keys by tenant. */
  readonly label: string
  /** The name in the second dimension, if the query has one. */
  readonly split?: string
}

export interface CallLogQuery extends UsageFilters {
  readonly node?: string
  readonly requestId?: string
  readonly outcome?: string
  /** At least this status: 400 for all failed calls. */
  readonly minStatus?: number
  /** At most this status: with `minStatus` 400, 499 selects all errors of clients. */
  readonly maxStatus?: number
  readonly sinceMs?: number
  readonly untilMs?: number
  /** Only ids below (newest first), or above (oldest first: to follow the log). */
  readonly before?: number
  readonly after?: number
  /** 100 by default. */
  readonly limit?: number
}

export interface StoredCall extends CallRecord {
  readonly id: number
}

export interface StoredRejection extends RejectedCall {
  readonly id: number
}

/** Progress and cancellation of a verification, which may take minutes. */
export interface VerifyWatch {
  readonly onProgress?: (entries: number, ofEntries: number) => void
  readonly signal?: AbortSignal
  /** Files of archives, to be added up as well. @throws {CommandError} archive_damaged, archive_unknown */
  readonly files?: readonly string[]
}

export interface Verification {
  /** In the ledger, and in the files that were added up. */
  readonly entries: number
  /** In archives whose files were not added up: for these, the sums that were recorded count. */
  readonly archived: number
  readonly openHolds: number
  /**
   * Rows of journals that no gateway has written to the store since a crash, with ends of calls among them. PostgreSQL: 0,
   * journals on the disks of gateways are not seen.
   */
  readonly unfoldedRows: number
  /** Empty if the ledger is consistent. */
  readonly findings: readonly Finding[]
}

/** A row that contradicts the entries. */
export interface Finding {
  readonly table:
    | 'ledger'
    | 'archives'
    | 'adjustments'
    | 'open_holds'
    | 'wallets'
    | 'key_totals'
    | 'usage_quarters'
    | 'usage_days'
    | 'usage_key_days'
    | 'usage_model_days'
    | 'shares'
  /** The row, such as `id 17` or `tenant acme`. */
  readonly row: string
  /** The inconsistency, with both numbers. */
  readonly problem: string
}
