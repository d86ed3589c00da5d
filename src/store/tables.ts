import type { ColumnType, Generated } from 'kysely'
import type { TokenScope } from '../schema/token.ts'
import type { Carrier, Role } from '../schema/user.ts'
import type { Origin, Owner } from './types.ts'

/** The tables, after all migrations. Times are milliseconds since the epoch. */
export interface Tables {
  head: HeadTable
  revisions: RevisionsTable
  revision_changes: RevisionChangesTable
  resources: ResourcesTable
  accounts: AccountsTable
  key_secrets: KeySecretsTable
  key_suspensions: KeySuspensionsTable
  maintenance: MaintenanceTable
  gateways: GatewaysTable
  endpoint_health: EndpointHealthTable
  users: UsersTable
  sessions: SessionsTable
  tokens: TokensTable
  login_origins: LoginOriginsTable
  audit: AuditTable
  stored_secrets: StoredSecretsTable
  ledger: LedgerTable
  ledger_prices: LedgerPricesTable
  open_holds: OpenHoldsTable
  wallets: WalletsTable
  key_totals: KeyTotalsTable
  usage_quarters: UsageQuartersTable
  call_logs: CallLogsTable
  rejected_calls: RejectedCallsTable
  stored_responses: StoredResponsesTable
  ledger_head: LedgerHeadTable
  journal: JournalTable
}

/** An amount of money. Cast it to text to select it: a number of JavaScript would lose digits. */
type Nano = ColumnType<{ readonly castToText: never }, bigint, bigint>

/** One row, which polls compare. */
interface HeadTable {
  id: 1
  revision: number
  key_version: number
  /** The oldest revision with a readable state. */
  states_from: Generated<number>
}

/** Append-only; enforced by triggers. */
export interface RevisionsTable {
  id: number
  base: number
  set_name: string | null
  origin: Origin
  author: string | null
  git_commit: string | null
  created_at_ms: number
  /** JSON of `Counts`. */
  counts: string
  /** Of a rollback: the revision that it restored. */
  restores: number | null
}

/**
 * The changes of each revision: a row per resource that it created, changed or deleted. `before_…` are the previous
 * columns of `resources`, null if the resource did not exist. Append-only but for retention; enforced by triggers.
 */
export interface RevisionChangesTable {
  revision: number
  kind: string
  name: string
  before_spec: string | null
  before_owner: Owner | null
  before_set_name: string | null
  before_source_file: string | null
  before_source_line: number | null
  before_created_revision: number | null
  before_updated_revision: number | null
  before_created_at_ms: number | null
  before_account: string | null
  /** The place in the files that declares the new version. */
  made_file: string | null
  made_line: number | null
}

export interface ResourcesTable {
  kind: string
  name: string
  /** Canonical JSON. */
  spec: string
  owner: Owner
  set_name: string | null
  source_file: string | null
  source_line: number | null
  created_revision: number
  updated_revision: number
  /** When `created_revision` was committed. */
  created_at_ms: number
  /** The account for usage and spend; null if it equals the name. */
  account: string | null
}

/** Accounts that differ from the name of their resource. */
interface AccountsTable {
  kind: string
  account: string
  /** The last name of the account. */
  name: string
}

export interface KeySecretsTable {
  id: Generated<number>
  key_name: string
  /** SHA-256 in lower-case hexadecimal digits. */
  digest: string
  created_at_ms: number
  expires_at_ms: number | null
  revoked_at_ms: number | null
}

interface KeySuspensionsTable {
  key_name: string
  suspended_at_ms: number
}

/** One row while `gw maintenance` is on. */
interface MaintenanceTable {
  id: 1
  message: string | null
  author: string | null
  since_ms: number
}

export interface GatewaysTable {
  id: string
  pid: number
  host: string
  version: string | null
  url: string | null
  started_at_ms: number
  seen_at_ms: number
  revision: number
  key_version: number
  rejected_revision: number | null
  rejection: string | null
  followed_paths: string | null
  followed_watch: number | null
}

export interface EndpointHealthTable {
  gateway_id: string
  endpoint: string
  state: 'healthy' | 'unhealthy'
  since_ms: number
  reason: string | null
}

export interface LedgerTable {
  id: Generated<number>
  kind: 'hold' | 'settle' | 'release' | 'credit' | 'debit' | 'adjust'
  at_ms: number
  request_id: string | null
  attempt: number | null
  key_name: string | null
  tenant: string | null
  publication: string | null
  endpoint: string | null
  /** Negative only for `adjust`. */
  amount_nano: Nano
  /** Only for holds. */
  tokens: number | null
  /** For holds an estimate. */
  input_tokens: number | null
  cached_input_tokens: number | null
  cache_write_tokens: number | null
  output_tokens: number | null
  search_units: number | null
  duration_ms: number | null
  characters: number | null
  images: number | null
  input_amount_nano: Nano | null
  deadline_ms: number | null
  /** Only for settlements: separated by commas. */
  flags: string | null
  /** Only for releases. */
  reason: string | null
  reference: string | null
  note: string | null
  author: string | null
  /** Only for settlements; null if there was no price, or an older gw wrote the entry. */
  price_id: number | null
}

/** Append-only; enforced by triggers. */
interface LedgerPricesTable {
  id: Generated<number>
  /** See `priceText`. */
  price: string
}

interface OpenHoldsTable {
  /** The entry that opened it, with all other fields. */
  entry_id: number
  /** The path of the request, and whether it streams; null if such calls have no line in the call log. */
  path: string | null
  stream: number | null
  price_id: number | null
}

/** Credits − debits + adjustments − settlements: `balance_units` × 1e9 + `balance_nano`. */
interface WalletsTable {
  tenant: string
  balance_units: Nano
  balance_nano: Nano
}

/** Lifetime usage of a key. */
interface KeyTotalsTable {
  key_name: string
  /** Input and output. */
  tokens: number
  amount_units: Nano
  amount_nano: Nano
}

/** Settled usage per quarter of an hour, by the end time of the calls. */
export interface UsageQuartersTable {
  key_name: string
  /** Quarters of an hour since the epoch. */
  quarter: number
  /** Empty for platform keys. */
  tenant: string
  publication: string
  endpoint: string
  requests: number
  input_tokens: number
  cached_input_tokens: number
  cache_write_tokens: number
  output_tokens: number
  search_units: number
  duration_ms: number
  characters: number
  images: number
  amount_units: Nano
  amount_nano: Nano
  estimated: number
  unpriced: number
}

export interface CallLogsTable {
  id: Generated<number>
  at_ms: number
  request_id: string
  key_name: string
  tenant: string | null
  publication: string
  endpoint: string | null
  protocol: string
  path: string
  status: number
  stream: number
  outcome: string
  error_code: string | null
  input_tokens: number | null
  cached_input_tokens: number | null
  cache_write_tokens: number | null
  output_tokens: number | null
  search_units: number | null
  duration_ms: number | null
  characters: number | null
  images: number | null
  amount_nano: Nano
  /** Separated by commas. */
  flags: string
  latency_ms: number
  first_byte_ms: number | null
  attempts: number
  reason: string | null
  /** JSON: a list of texts. */
  failed_attempts: string | null
}

export interface RejectedCallsTable {
  id: Generated<number>
  at_ms: number
  request_id: string
  key_name: string | null
  tenant: string | null
  asked_model: string | null
  protocol: string
  path: string
  status: number
  error_code: string
  message: string
  reason: string | null
  count: number
}

/** The ids of answers that upstreams keep: a row for each response and each of its output items. */
interface JournalTable {
  id: number
  /** Hexadecimal; also in the header of each segment. */
  journal_id: string
  /** The last row of the journal that is in the store. */
  folded_row: number
}

interface StoredResponsesTable {
  id: string
  key_name: string
  /** Null for platform keys. */
  tenant: string | null
  publication: string
  endpoint: string
  /** Input and output of the answer. */
  tokens: number
  expires_at_ms: number
}

interface LedgerHeadTable {
  id: 1
  /** The id of the last credit, debit or adjustment. */
  wallet_version: number
  probed_at_ms: number
}

export interface UsersTable {
  id: Generated<number>
  name: string
  role: Role
  tenant: string | null
  enabled: number
  /** In the format of `hashPassword`. */
  password_hash: string
  created_at_ms: number
  last_login_at_ms: number | null
  /** Grows with each change. */
  version: number
}

export interface TokensTable {
  id: string
  /** SHA-256 of the token in lower-case hexadecimal digits. */
  digest: string
  user_id: number
  name: string
  role: Role
  tenant: string | null
  scope: TokenScope
  created_at_ms: number
  expires_at_ms: number
  /** Precise to the minute. */
  used_at_ms: number | null
}

interface SessionsTable {
  /** SHA-256 of the token in lower-case hexadecimal digits. */
  digest: string
  user_id: number
  carrier: Carrier
  address: string
  created_at_ms: number
  /** Precise to the minute. */
  used_at_ms: number
}

interface LoginOriginsTable {
  user_id: number
  /** `network …`, or `device` and the SHA-256 of a cookie. */
  origin: string
  used_at_ms: number
}

/** Append-only; enforced by triggers. */
export interface AuditTable {
  id: Generated<number>
  at_ms: number
  user_name: string
  role: string
  origin: 'rest' | 'cli'
  address: string | null
  action: string
  target: string | null
  revision: number | null
  request_id: string | null
}

/** Credentials that were set over REST, sealed with a key that is not in the database. */
export interface StoredSecretsTable {
  id: string
  /** The permitted use; part of the seal as associated data. */
  bound_to: string
  nonce: Buffer
  /** The ciphertext and its tag. */
  sealed: Buffer
  created_at_ms: number
}
