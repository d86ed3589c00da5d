import type { ColumnType, Generated } from 'kysely'
import type { TokenScope } from '../schema/token.ts'
import type { Carrier, Role } from '../schema/user.ts'
import type { Origin, Owner } from './types.ts'

/** The tables, as the migrations leave them. Times are milliseconds since the epoch. */
export interface Tables {
  head: HeadTable
  revisions: RevisionsTable
  revision_changes: RevisionChangesTable
  resources: ResourcesTable
  accounts: AccountsTable
  key_secrets: KeySecretsTable
  key_suspensions: KeyHoldsTable
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
  ledger_head: LedgerHeadTable
}

/** An amount of money. Cast it to text to select it: as a number of JavaScript it would lose digits. */
type Nano = ColumnType<{ readonly castToText: never }, bigint, bigint>

/** One row: what a poll compares. */
interface HeadTable {
  id: 1
  revision: number
  key_version: number
  /** The oldest revision whose state can be read. */
  states_from: Generated<number>
}

/** Append-only; triggers see to it. */
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
  /** Of a rollback: the revision that stands again. */
  restores: number | null
}

/**
 * What each revision changed: a row for each resource that it made, changed or took away. `before_…` are the columns of
 * `resources` as they were, null where nothing stood. Append-only but for retention; triggers see to it.
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
  /** Where the files declared what the revision made. */
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
  /** Under what it is booked; null where that is its name. */
  account: string | null
}

/** Accounts that are called otherwise than they are. */
interface AccountsTable {
  kind: string
  account: string
  /** The name that it had last. */
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

interface KeyHoldsTable {
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
  /** Negative only where the kind is `adjust`. */
  amount_nano: Nano
  /** Of holds. */
  tokens: number | null
  /** Of holds an estimate. */
  input_tokens: number | null
  cached_input_tokens: number | null
  cache_write_tokens: number | null
  output_tokens: number | null
  search_units: number | null
  input_amount_nano: Nano | null
  deadline_ms: number | null
  /** Of settlements: separated by commas. */
  flags: string | null
  /** Of releases. */
  reason: string | null
  reference: string | null
  note: string | null
  author: string | null
  /** Of settlements; null where there was no price, or the entry is of an older gw. */
  price_id: number | null
}

/** Append-only; triggers see to it. */
interface LedgerPricesTable {
  id: Generated<number>
  /** See `priceText`. */
  price: string
}

interface OpenHoldsTable {
  /** The entry that opened it, where the rest of it is. */
  entry_id: number
  /** By which path it came, and whether it is a stream; null where the call log has no line for such calls. */
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

/** What a key has used for life. */
interface KeyTotalsTable {
  key_name: string
  /** Input and output. */
  tokens: number
  amount_units: Nano
  amount_nano: Nano
}

/** What was settled within a quarter of an hour, by the time of the end. */
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
  /** As `hashPassword` makes it. */
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
  /** To the minute. */
  used_at_ms: number | null
}

interface SessionsTable {
  /** SHA-256 of the token in lower-case hexadecimal digits. */
  digest: string
  user_id: number
  carrier: Carrier
  address: string
  created_at_ms: number
  /** To the minute. */
  used_at_ms: number
}

interface LoginOriginsTable {
  user_id: number
  /** `network …`, or `device` and the SHA-256 of a cookie. */
  origin: string
  used_at_ms: number
}

/** Append-only; triggers see to it. */
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

/** Secrets that were given over REST, sealed with a key that is not in the database. */
export interface StoredSecretsTable {
  id: string
  /** What it may be used for; sealed in as associated data. */
  bound_to: string
  nonce: Buffer
  /** The ciphertext and its tag. */
  sealed: Buffer
  created_at_ms: number
}
