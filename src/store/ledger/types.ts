import type {
  CallRecord,
  Flag,
  Hold,
  HoldEnd,
  KeySums,
  KeySumsQuery,
  RejectedCall,
} from '../../schema/ledger.ts'

/** Where the ledger says what its callers' promises cannot. Each is called on the main thread and must not throw. */
export interface LedgerEvents {
  /** Rows cannot be committed; once for each trouble. For the operator: names the database and the cause. */
  onProblem(message: string): void
  /** The trouble is over, and all that waited is committed. */
  onRecovered(): void
  /** A row contradicts the ledger and was not written: a bug of ours, or a bill that needs a person. */
  onAlarm(message: string): void
  /** The writer has ended by itself: nothing can be committed any more, and the process should end. */
  onDeath(error: Error): void
}

/**
 * The ledger of the one gateway that serves a store; also a `LedgerPort`. Rows and questions take effect in the
 * order in which they are made: a sum includes exactly what was ended before it was asked for.
 */
export interface Ledger {
  /** False while rows cannot be committed, or too many wait. */
  readonly healthy: boolean
  /** Rows that wait for their commit. */
  readonly queued: number
  /** Lines of the call log that were dropped since the start. */
  readonly droppedLogs: number

  /**
   * Resolves when the hold is committed.
   * @throws {BalanceShort} where it is prepaid and the balance does not cover it. {GwError} unavailable, where it
   *   cannot be written, or not within two seconds. Nothing is held then.
   */
  open(hold: Hold): Promise<void>
  /**
   * Resolves when the end is committed. Always accepted. A second end of the same hold is a no-op; one that
   * differs, or one without a hold, is an alarm and writes nothing.
   * @throws {GwError} unavailable, where the writer has ended before it was committed.
   */
  end(end: HoldEnd): Promise<void>
  /** Queues a line of the call log; under pressure it is dropped and counted. */
  log(record: CallRecord): void
  /** Gathers rejected calls for a second, and writes a sample of them with their numbers. */
  logRejected(call: RejectedCall): void

  /** One answer for each query, in their order. A key that was never billed has zeros. */
  sums(queries: readonly KeySumsQuery[]): Promise<readonly KeySums[]>
  balances(tenants: readonly string[]): Promise<Balances>
  /** What other processes have credited and debited since `version`. Cheap enough for once a second. */
  adjustments(sinceVersion: number): Promise<Adjustments>

  /**
   * Settles the holds that an earlier process has left, at their input estimate, as `interrupted` and `estimated`.
   * To be awaited before the first `open`. How many there were.
   */
  recover(nowMs: number): Promise<number>
  /**
   * Settles holds that are more than 60 s past their deadline and not known any more, at their input estimate, as
   * `swept` and `estimated`. How many there were.
   */
  sweep(nowMs: number, isKnown?: (requestId: string, attempt: number) => boolean): Promise<number>
  /** Deletes at most `maxRows` lines of the call log from before `beforeMs`, oldest first. How many there were. */
  pruneCallLogs(beforeMs: number, maxRows: number): Promise<number>

  /** Resolves when all that was queued before is committed. */
  flush(): Promise<void>
  /**
   * Commits what waits, for at most `withinMs` (10 s by default), ends the writer and gives the lease back.
   * How many rows could not be committed: 0, unless the database fails; their holds are settled by `recover`.
   */
  close(withinMs?: number): Promise<number>
}

/** Balances as of one moment, to be moved on by the adjustments after `version`. */
export interface Balances {
  readonly version: number
  /** Credits − debits − what was settled; negative where a postpaid tenant owes. Each tenant that was asked for. */
  readonly balanceNano: ReadonlyMap<string, bigint>
}

export interface Adjustments {
  /** To be given back with the next question. */
  readonly version: number
  /** In the order in which they were made; a debit is negative. */
  readonly changes: readonly { readonly tenant: string; readonly amountNano: bigint }[]
}

/** What people ask of the ledger, and credits and debits, from any process: `store.accounting`. */
export interface Accounting {
  /** Zeros where the tenant has no entries. */
  wallet(tenant: string): Promise<Wallet>
  /** All tenants that have a balance or a hold, by name. */
  wallets(): Promise<readonly Wallet[]>
  /** Newest first. */
  walletEntries(tenant: string, page?: EntriesPage): Promise<readonly WalletEntry[]>
  /**
   * Happens once: the same reference with the same amount returns the first entry, with `isNew` false.
   * @throws {CommandError} GW4005 without such a tenant · GW4011 where the reference stands for something else
   */
  credit(adjustment: Adjustment): Promise<AdjustmentResult>
  /**
   * As {@link credit}. Of a prepaid balance what open calls hold is not to be had, so that it never falls below 0.
   * @throws {CommandError} GW4005, GW4011 · GW4012 where the tenant is prepaid and its balance does not cover it
   */
  debit(adjustment: Adjustment): Promise<AdjustmentResult>
  /** As {@link credit} or, by a negative amount, as {@link debit}: puts right what a bill has charged. */
  adjust(adjustment: Adjustment): Promise<AdjustmentResult>

  /** What was settled by each of some names; names without anything are left out. */
  use(query: UseQuery): Promise<readonly NamedUse[]>
  /** When each of some names was last used, to a quarter of an hour. */
  lastUse(query: UseQuery): Promise<ReadonlyMap<string, number>>
  /** How busy each of some names was at most. */
  peaks(query: UseQuery): Promise<ReadonlyMap<string, PeakUse>>
  /** One answer for each query, in their order; zeros for a key that was never billed. */
  keySums(queries: readonly KeySumsQuery[]): Promise<readonly KeySums[]>

  /** Settled usage, by the end of its calls; the largest amounts first, days in order. */
  usage(query: UsageQuery): Promise<readonly UsageRow[]>
  /** Newest first, or oldest first where the page starts `after` an id. */
  callLogs(query?: CallLogQuery): Promise<readonly StoredCall[]>
  /** Calls that were rejected before they were dispatched, in the same order; their model is the one that was asked for. */
  rejectedCalls(query?: CallLogQuery): Promise<readonly StoredRejection[]>
  /**
   * Re-adds every entry, as of one moment, and names what does not fit. At most 100 findings.
   * @throws the reason of `watch.signal`, once it is aborted
   */
  verify(watch?: VerifyWatch): Promise<Verification>
}

export interface Wallet {
  readonly tenant: string
  readonly balanceNano: bigint
  /** What open holds have taken of it. */
  readonly heldNano: bigint
}

/** An entry that moved a balance. `amountNano` is what it moved it by: negative for settlements and debits. */
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
  /** What it was billed by, see `priceText`. */
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
  /** Greater than 0; of `adjust` what it moves the balance by, either way. */
  readonly amountNano: bigint
  /** Unique within the tenant: an invoice, a payment. */
  readonly reference: string
  readonly note?: string
  readonly author?: string
}

export interface AdjustmentResult {
  readonly entry: WalletEntry
  /** False where the reference had been booked before. */
  readonly isNew: boolean
  readonly balanceNano: bigint
}

/** Names of one kind, and since when their use counts. */
export interface UseQuery {
  readonly by: 'key' | 'tenant' | 'publication' | 'endpoint'
  readonly names: readonly string[]
  /** Taken down to the quarter of an hour. */
  readonly sinceMs: number
}

export interface NamedUse {
  readonly name: string
  /** Of a publication: a row for each endpoint that has served it. Else empty. */
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

export interface UsageQuery extends UsageFilters {
  readonly by: 'key' | 'tenant' | 'model' | 'endpoint' | 'day'
  /** Both are taken to the quarter of an hour: `sinceMs` down, `untilMs` up. */
  readonly sinceMs: number
  readonly untilMs: number
  /** Where days begin, such as `Europe/Berlin`; UTC by default. */
  readonly timezone?: string
}

export interface UsageFilters {
  readonly key?: string
  readonly tenant?: string
  readonly publication?: string
  readonly endpoint?: string
}

export interface UsageRow {
  /** A name, or a day such as `2026-03-29`; empty for calls of platform keys by tenant. */
  readonly label: string
  readonly requests: number
  readonly inputTokens: number
  readonly cachedInputTokens: number
  readonly cacheWriteTokens: number
  readonly outputTokens: number
  readonly searchUnits: number
  readonly amountNano: bigint
  /** Of the requests: those whose usage was estimated, and those without a price. */
  readonly estimated: number
  readonly unpriced: number
}

export interface CallLogQuery extends UsageFilters {
  readonly requestId?: string
  readonly outcome?: string
  /** At least this status: 400 for all that failed. */
  readonly minStatus?: number
  /** At most this status: with `minStatus` 400 and this at 499 all that the client did wrong. */
  readonly maxStatus?: number
  readonly sinceMs?: number
  readonly untilMs?: number
  /** Only ids below (newest first), or above (oldest first: to follow). */
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

/** How a verification, which may take minutes, is followed and ended. */
export interface VerifyWatch {
  readonly onProgress?: (entries: number, ofEntries: number) => void
  readonly signal?: AbortSignal
}

export interface Verification {
  readonly entries: number
  readonly openHolds: number
  /** Empty: everything fits. */
  readonly findings: readonly Finding[]
}

/** A row that contradicts the entries. */
export interface Finding {
  readonly table: 'ledger' | 'open_holds' | 'wallets' | 'key_totals' | 'usage_quarters'
  /** Which one: `id 17`, `tenant acme`. */
  readonly row: string
  /** What is wrong with it, with both numbers. */
  readonly problem: string
}
