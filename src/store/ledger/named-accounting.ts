import type { Kind } from '../../schema/kinds.ts'
import type { KeySums, KeySumsQuery } from '../../schema/ledger.ts'
import type { SharedLimit } from '../../schema/shares.ts'
import type { Accounts } from '../renames.ts'
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

const ARCHIVED_NAMES = ['key', 'tenant', 'model', 'endpoint'] as const

/**
 * The ledger by current names: it records accounts, which stay when a resource is renamed, and queries use names. A
 * name without a resource stands for the account of that name.
 */
export class NamedAccounting implements Accounting {
  readonly #byAccount: Accounting
  readonly #accounts: () => Promise<Accounts>

  constructor(byAccount: Accounting, accounts: () => Promise<Accounts>) {
    this.#byAccount = byAccount
    this.#accounts = accounts
  }

  async wallet(tenant: string): Promise<Wallet> {
    const accounts = await this.#accounts()
    return { ...(await this.#byAccount.wallet(accounts.accountOf('tenant', tenant))), tenant }
  }

  async wallets(): Promise<readonly Wallet[]> {
    const accounts = await this.#accounts()
    const wallets = (await this.#byAccount.wallets()).map(wallet => ({
      ...wallet,
      tenant: accounts.nameOf('tenant', wallet.tenant),
    }))
    return accounts.isPlain ? wallets : wallets.sort((a, b) => (a.tenant < b.tenant ? -1 : 1))
  }

  async walletEntries(tenant: string, page?: EntriesPage): Promise<readonly WalletEntry[]> {
    const accounts = await this.#accounts()
    const entries = await this.#byAccount.walletEntries(accounts.accountOf('tenant', tenant), page)
    return entries.map(entry => withNames(entry, accounts))
  }

  credit(adjustment: Adjustment): Promise<AdjustmentResult> {
    return this.#adjust(adjustment, recorded => this.#byAccount.credit(recorded))
  }

  debit(adjustment: Adjustment): Promise<AdjustmentResult> {
    return this.#adjust(adjustment, recorded => this.#byAccount.debit(recorded))
  }

  adjust(adjustment: Adjustment): Promise<AdjustmentResult> {
    return this.#adjust(adjustment, recorded => this.#byAccount.adjust(recorded))
  }

  async use(query: UseQuery): Promise<readonly NamedUse[]> {
    const accounts = await this.#accounts()
    const rows = await this.#byAccount.use(toAccounts(query, accounts))
    return rows.map(row => ({
      ...row,
      name: accounts.nameOf(KIND_OF[query.by], row.name),
      endpoint: row.endpoint === '' ? '' : accounts.nameOf('endpoint', row.endpoint),
    }))
  }

  async lastUse(query: UseQuery): Promise<ReadonlyMap<string, number>> {
    const accounts = await this.#accounts()
    return byName(await this.#byAccount.lastUse(toAccounts(query, accounts)), KIND_OF[query.by], accounts)
  }

  async peaks(query: UseQuery): Promise<ReadonlyMap<string, PeakUse>> {
    const accounts = await this.#accounts()
    return byName(await this.#byAccount.peaks(toAccounts(query, accounts)), KIND_OF[query.by], accounts)
  }

  async nodeUse(query: NodeUseQuery): Promise<readonly NodeUse[]> {
    const accounts = await this.#accounts()
    const rows = await this.#byAccount.nodeUse(query)
    return rows.map(row => ({ ...row, endpoint: accounts.nameOf('endpoint', row.endpoint) }))
  }

  async keySums(queries: readonly KeySumsQuery[]): Promise<readonly KeySums[]> {
    const accounts = await this.#accounts()
    const sums = await this.#byAccount.keySums(
      queries.map(query => ({ ...query, key: accounts.accountOf('key', query.key) })),
    )
    return sums.map(sum => ({ ...sum, key: accounts.nameOf('key', sum.key) }))
  }

  /** By account: limits have no names. */
  sharedLimits(owners: readonly string[]): Promise<readonly SharedLimit[]> {
    return this.#byAccount.sharedLimits(owners)
  }

  async usage(query: UsageQuery): Promise<readonly UsageRow[]> {
    const accounts = await this.#accounts()
    const rows = await this.#byAccount.usage({ ...query, ...toAccountFilters(query, accounts) })
    const { by, split } = query
    return rows.map(row => ({
      ...row,
      ...(by !== 'day' && by !== 'hour' && { label: accounts.nameOf(KIND_OF[by], row.label) }),
      ...(split !== undefined && { split: accounts.nameOf(KIND_OF[split], row.split ?? '') }),
    }))
  }

  async callLogs(query: CallLogQuery = {}): Promise<readonly StoredCall[]> {
    const accounts = await this.#accounts()
    const calls = await this.#byAccount.callLogs({ ...query, ...toAccountFilters(query, accounts) })
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
    const recorded = { ...filters, ...toAccountFilters(filters, accounts) }
    const calls = await this.#byAccount.rejectedCalls(
      publication === undefined ? recorded : { ...recorded, publication },
    )
    if (accounts.isPlain) return calls
    return calls.map(call => ({
      ...call,
      ...(call.key !== undefined && { key: accounts.nameOf('key', call.key) }),
      ...(call.tenant !== undefined && { tenant: accounts.nameOf('tenant', call.tenant) }),
    }))
  }

  /** Reports accounts, not names. */
  verify(watch?: VerifyWatch): Promise<Verification> {
    return this.#byAccount.verify(watch)
  }

  /** Archives accounts: names may change afterwards. The header has the present names. */
  async archive(request: ArchiveRequest, watch?: ArchiveWatch): Promise<Archiving> {
    const accounts = await this.#accounts()
    const names = ARCHIVED_NAMES.flatMap(member => {
      const differing = accounts.namesOf(KIND_OF[member])
      return differing ? [[member, differing] as const] : []
    })
    const shown = names.length > 0 && { names: Object.fromEntries(names) }
    return this.#byAccount.archive({ ...request, ...shown }, watch)
  }

  archives(): Promise<readonly Archive[]> {
    return this.#byAccount.archives()
  }

  async #adjust(
    adjustment: Adjustment,
    record: (adjustment: Adjustment) => Promise<AdjustmentResult>,
  ): Promise<AdjustmentResult> {
    const accounts = await this.#accounts()
    return record({ ...adjustment, tenant: accounts.accountOf('tenant', adjustment.tenant) })
  }
}

function toAccounts(query: UseQuery, accounts: Accounts): UseQuery {
  const kind = KIND_OF[query.by]
  return { ...query, names: query.names.map(name => accounts.accountOf(kind, name)) }
}

function toAccountFilters(
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

function withNames(entry: WalletEntry, accounts: Accounts): WalletEntry {
  return {
    ...entry,
    ...(entry.key !== undefined && { key: accounts.nameOf('key', entry.key) }),
    ...(entry.publication !== undefined && {
      publication: accounts.nameOf('publication', entry.publication),
    }),
  }
}
