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
  login_links: LoginLinksTable
  login_origins: LoginOriginsTable
  audit: AuditTable
  stored_secrets: StoredSecretsTable
  node_join_tokens: NodeJoinTokensTable
  node_credentials: NodeCredentialsTable
  node_retired_credentials: NodeRetiredCredentialsTable
  node_drains: NodeDrainsTable
  node_connections: NodeConnectionsTable
  ledger: LedgerTable
  adjustments: AdjustmentsTable
  ledger_names: LedgerNamesTable
  ledger_prices: LedgerPricesTable
  open_holds: OpenHoldsTable
  wallets: WalletsTable
  key_totals: KeyTotalsTable
  usage_quarters: UsageQuartersTable
  usage_days: UsageDaysTable
  usage_key_days: UsageKeyDaysTable
  usage_model_days: UsageModelDaysTable
  call_logs: CallLogsTable
  call_log_pages: CallLogPagesTable
  call_log_values: CallLogValuesTable
  rejected_calls: RejectedCallsTable
  stored_responses: StoredResponsesTable
  ledger_head: LedgerHeadTable
  journal: JournalTable
  scopes: ScopesTable
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
  /** Of the process that started it with others; null: none. */
  supervisor_pid: number | null
}

export interface EndpointHealthTable {
  gateway_id: string
  endpoint: string
  state: 'healthy' | 'unhealthy'
  since_ms: number
  reason: string | null
}

/** A row for each call that has ended, and for each change of a wallet. Append-only; enforced by triggers. */
interface LedgerTable {
  id: Generated<number>
  /** Its place in `KINDS`. */
  kind: number
  at_ms: number
  /** See `fromRequestId`; null for credits, debits and adjustments, like all columns of calls. */
  request: Buffer | string | null
  attempt: number | null
  /** The columns `…_id` are numbers of `ledger_names`. */
  key_id: number | null
  tenant_id: number | null
  publication_id: number | null
  endpoint_id: number | null
  amount_nano: Nano
  input_tokens: number | null
  cached_input_tokens: number | null
  cache_write_tokens: number | null
  output_tokens: number | null
  search_units: number | null
  duration_ms: number | null
  characters: number | null
  images: number | null
  /** See `fromFlags`. */
  flags: number
  /** Of a settlement with a price. */
  price_id: number | null
  /** Of a release. */
  reason_id: number | null
  /** How long the hold was open, and what it reserved. */
  open_ms: number | null
  held_nano: Nano | null
  held_tokens: number | null
}

/** What a credit, debit or adjustment says, beside its entry. */
interface AdjustmentsTable {
  entry_id: number
  tenant_id: number
  reference: string
  note: string | null
  author: string | null
}

/** Names of keys, tenants, publications and endpoints (accounts), nodes, reasons, paths, outcomes and error codes. */
interface LedgerNamesTable {
  id: Generated<number>
  name: string
}

/** Prices of settlements, see `priceText`. */
interface LedgerPricesTable {
  id: Generated<number>
  price: string
}

/** Holds without an end. */
interface OpenHoldsTable {
  id: Generated<number>
  request_id: string
  attempt: number
  key_name: string
  tenant: string | null
  publication: string
  endpoint: string
  opened_at_ms: number
  deadline_ms: number
  amount_nano: Nano
  tokens: number
  input_tokens: number
  input_amount_nano: Nano
  duration_ms: number | null
  characters: number | null
  images: number | null
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
export interface UsageQuartersTable extends UsageColumns {
  /** Quarters of an hour since the epoch. */
  quarter: number
}

/** The same sums of whole days. */
export interface UsageDaysTable extends UsageColumns {
  /** Days since the epoch, in UTC. */
  day: number
}

/** The same sums of whole days, of all models and endpoints of a key. */
export type UsageKeyDaysTable = Omit<UsageDaysTable, 'publication' | 'endpoint'>

/** The same sums of whole days, of all keys. */
export type UsageModelDaysTable = Omit<UsageDaysTable, 'key_name'>

interface UsageColumns {
  key_name: string
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

/** The columns `…_id` are numbers of `ledger_names`; `request` and `flags` as in the ledger. */
export interface CallLogsTable {
  id: Generated<number>
  at_ms: number
  request: Buffer | string
  key_id: number
  tenant_id: number | null
  publication_id: number
  endpoint_id: number | null
  path_id: number
  status: number
  stream: number
  outcome_id: number
  error_code_id: number | null
  input_tokens: number | null
  cached_input_tokens: number | null
  cache_write_tokens: number | null
  output_tokens: number | null
  search_units: number | null
  duration_ms: number | null
  characters: number | null
  images: number | null
  amount_nano: Nano
  flags: number
  latency_ms: number
  first_byte_ms: number | null
  attempts: number
  reason: string | null
  /** JSON: a list of texts. */
  failed_attempts: string | null
  node_id: number | null
}

/** A page of ids of the call log, see `LogPages`. */
interface CallLogPagesTable {
  page: number
  first_at_ms: number
  last_at_ms: number
}

/** Which pages of the call log have a row with a value. */
interface CallLogValuesTable {
  filter: number
  value: number
  page: number
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

/** What the grantor has leased of a limit: the columns that a debit needs. Amounts are decimal text. */
interface ScopesTable {
  owner: string
  limit_name: string
  leased: string
  wanted: string
}

interface JournalTable {
  lane: number
  /** Hexadecimal; also in the header of each segment. */
  journal_id: string
  /** The last row of the journal that is in the store. */
  folded_row: number
}

/** The ids of answers that upstreams keep: a row for each response and each of its output items. */
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
  /** How many rows `open_holds` has: a lost one is found by it. */
  open_holds: Generated<number>
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

interface LoginLinksTable {
  /** SHA-256 of the token in lower-case hexadecimal digits. */
  digest: string
  user_id: number
  expires_at_ms: number
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
  /** Of a rejection. */
  reason: string | null
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

export interface NodeJoinTokensTable {
  id: string
  /** SHA-256 of the token. */
  digest: string
  /** A name, or a glob over names. */
  pattern: string
  labels: string
  uses_left: number
  created_at_ms: number
  expires_at_ms: number
  created_by: string | null
}

interface NodeCredentialsTable {
  node: string
  /** The first digest after the join: the same for all credentials that follow it. */
  family: string
  /** SHA-256 of the credential. */
  digest: string
  issued_at_ms: number
  /** Of one that the node may not have stored yet. */
  next_digest: string | null
  next_issued_at_ms: number | null
  /** Those of its join token. */
  labels: string
  joined_at_ms: number
}

/** Replaced ones. If one of them appears again, two machines have the credentials of one node. */
interface NodeRetiredCredentialsTable {
  digest: string
  node: string
  retired_at_ms: number
}

interface NodeDrainsTable {
  node: string
  since_ms: number
}

/** Written by the gateway to which a node is connected. */
interface NodeConnectionsTable {
  node: string
  gateway_id: string
  address: string
  version: string
  connected_at_ms: number
  seen_at_ms: number
  engines: string
}
