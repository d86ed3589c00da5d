import type { Kind } from '../../schema/kinds.ts'
import type { KeySums, KeySumsQuery } from '../../schema/ledger.ts'
import type { Accounts } from '../renames.ts'
import type {
  Accounting,
  Adjustment,
  AdjustmentResult,
  CallLogQuery,
  EntriesPage,
  NamedUse,
  PeakUse,
  StoredCall,
  StoredRejection,
  UsageFilters,
  UsageQuery,
  UsageRow,
  UseQuery,
  Verification,
  VerifyWatch,
  Wallet,
  WalletEntry,
} from './types.ts'

const KIND_OF = {
  key: 'key',
  tenant: 'tenant',
  model: 'publication',
  publication: 'publication',
  endpoint: 'endpoint',
} as const satisfies Record<string, Kind>

/**
 * The ledger by the names of now: it books by accounts, which stay when a resource is renamed, and people ask by names.
 * A name that nothing bears any more is the account of what came under it.
 */
export class NamedAccounting implements Accounting {
  readonly #booked: Accounting
  readonly #accounts: () => Promise<Accounts>

  constructor(booked: Accounting, accounts: () => Promise<Accounts>) {
    this.#booked = booked
    this.#accounts = accounts
  }

  async wallet(tenant: string): Promise<Wallet> {
    const accounts = await this.#accounts()
    return { ...(await this.#booked.wallet(accounts.accountOf('tenant', tenant))), tenant }
  }

  async wallets(): Promise<readonly Wallet[]> {
    const accounts = await this.#accounts()
    const wallets = (await this.#booked.wallets()).map(wallet => ({
      ...wallet,
      tenant: accounts.nameOf('tenant', wallet.tenant),
    }))
    return accounts.isPlain ? wallets : wallets.sort((a, b) => (a.tenant < b.tenant ? -1 : 1))
  }

  async walletEntries(tenant: string, page?: EntriesPage): Promise<readonly WalletEntry[]> {
    const accounts = await this.#accounts()
    const entries = await this.#booked.walletEntries(accounts.accountOf('tenant', tenant), page)
    return entries.map(entry => named(entry, accounts))
  }

  credit(adjustment: Adjustment): Promise<AdjustmentResult> {
    return this.#adjust(adjustment, booked => this.#booked.credit(booked))
  }

  debit(adjustment: Adjustment): Promise<AdjustmentResult> {
    return this.#adjust(adjustment, booked => this.#booked.debit(booked))
  }

  adjust(adjustment: Adjustment): Promise<AdjustmentResult> {
    return this.#adjust(adjustment, booked => this.#booked.adjust(booked))
  }

  async use(query: UseQuery): Promise<readonly NamedUse[]> {
    const accounts = await this.#accounts()
    const rows = await this.#booked.use(booked(query, accounts))
    return rows.map(row => ({
      ...row,
      name: accounts.nameOf(KIND_OF[query.by], row.name),
      endpoint: row.endpoint === '' ? '' : accounts.nameOf('endpoint', row.endpoint),
    }))
  }

  async lastUse(query: UseQuery): Promise<ReadonlyMap<string, number>> {
    const accounts = await this.#accounts()
    return byName(await this.#booked.lastUse(booked(query, accounts)), KIND_OF[query.by], accounts)
  }

  async peaks(query: UseQuery): Promise<ReadonlyMap<string, PeakUse>> {
    const accounts = await this.#accounts()
    return byName(await this.#booked.peaks(booked(query, accounts)), KIND_OF[query.by], accounts)
  }

  async keySums(queries: readonly KeySumsQuery[]): Promise<readonly KeySums[]> {
    const accounts = await this.#accounts()
    const sums = await this.#booked.keySums(
      queries.map(query => ({ ...query, key: accounts.accountOf('key', query.key) })),
    )
    return sums.map(sum => ({ ...sum, key: accounts.nameOf('key', sum.key) }))
  }

  async usage(query: UsageQuery): Promise<readonly UsageRow[]> {
    const accounts = await this.#accounts()
    const rows = await this.#booked.usage({ ...query, ...bookedFilters(query, accounts) })
    if (query.by === 'day') return rows
    const kind = KIND_OF[query.by]
    return rows.map(row => ({ ...row, label: accounts.nameOf(kind, row.label) }))
  }

  async callLogs(query: CallLogQuery = {}): Promise<readonly StoredCall[]> {
    const accounts = await this.#accounts()
    const calls = await this.#booked.callLogs({ ...query, ...bookedFilters(query, accounts) })
    if (accounts.isPlain) return calls
    return calls.map(call => ({
      ...call,
      key: accounts.nameOf('key', call.key),
      ...(call.tenant !== undefined && { tenant: accounts.nameOf('tenant', call.tenant) }),
      publication: accounts.nameOf('publication', call.publication),
      ...(call.endpoint !== undefined && { endpoint: accounts.nameOf('endpoint', call.endpoint) }),
    }))
  }

  async rejectedCalls(query: CallLogQuery = {}): Promise<readonly StoredRejection[]> {
    const accounts = await this.#accounts()
    const { publication, ...filters } = query
    const asked = { ...filters, ...bookedFilters(filters, accounts) }
    const calls = await this.#booked.rejectedCalls(
      publication === undefined ? asked : { ...asked, publication },
    )
    if (accounts.isPlain) return calls
    return calls.map(call => ({
      ...call,
      ...(call.key !== undefined && { key: accounts.nameOf('key', call.key) }),
      ...(call.tenant !== undefined && { tenant: accounts.nameOf('tenant', call.tenant) }),
    }))
  }

  /** Of accounts, as they are booked. */
  verify(watch?: VerifyWatch): Promise<Verification> {
    return this.#booked.verify(watch)
  }

  async #adjust(
    adjustment: Adjustment,
    book: (booked: Adjustment) => Promise<AdjustmentResult>,
  ): Promise<AdjustmentResult> {
    const accounts = await this.#accounts()
    return book({ ...adjustment, tenant: accounts.accountOf('tenant', adjustment.tenant) })
  }
}

function booked(query: UseQuery, accounts: Accounts): UseQuery {
  const kind = KIND_OF[query.by]
  return { ...query, names: query.names.map(name => accounts.accountOf(kind, name)) }
}

function bookedFilters(
  { key, tenant, publication, endpoint }: UsageFilters,
  accounts: Accounts,
): UsageFilters {
  return {
    ...(key !== undefined && { key: accounts.accountOf('key', key) }),
    ...(tenant !== undefined && { tenant: accounts.accountOf('tenant', tenant) }),
    ...(publication !== undefined && { publication: accounts.accountOf('publication', publication) }),
    ...(endpoint !== undefined && { endpoint: accounts.accountOf('endpoint', endpoint) }),
  }
}

function byName<Value>(
  found: ReadonlyMap<string, Value>,
  kind: Kind,
  accounts: Accounts,
): ReadonlyMap<string, Value> {
  return new Map([...found].map(([account, value]) => [accounts.nameOf(kind, account), value]))
}

function named(entry: WalletEntry, accounts: Accounts): WalletEntry {
  return {
    ...entry,
    ...(entry.key !== undefined && { key: accounts.nameOf('key', entry.key) }),
    ...(entry.publication !== undefined && {
      publication: accounts.nameOf('publication', entry.publication),
    }),
  }
}
