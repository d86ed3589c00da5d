import type { Protocol } from '../schema/endpoint.ts'
import type { Price } from '../schema/ledger.ts'
import type { Rate } from '../schema/limits.ts'
import type { PUBLICATION_STATUSES } from '../schema/publication.ts'

/**
 * The configuration as a request needs it: compiled once, frozen, never queried. A request takes the snapshot when
 * it begins and keeps it to its end; a reload swaps one reference.
 */
export interface Snapshot {
  readonly revision: number
  readonly keyVersion: number
  /** What clients are told, while the gateway is in maintenance, by hand or by its settings. */
  readonly maintenance: string | undefined
  /** What the settings say of it. */
  readonly declaredMaintenance: { readonly enabled: boolean; readonly message: string }
  readonly bodyLimitBytes: number
  /** Of browser applications that may call; absent where there are none. */
  readonly corsOrigins: ReadonlySet<string> | undefined
  /** Callers see names of endpoints. */
  readonly showEndpoints: boolean
  /** A label for amounts of money; nothing is converted. */
  readonly currency: string
  /** Whether embeddings write a call log, too. */
  readonly logEmbeddings: boolean
  readonly logRetentionMs: number
  /** For how long it is kept what stood at a revision, and how many can always be gone back. */
  readonly revisions: { readonly retentionMs: number; readonly keep: number }
  readonly health: HealthSettings
  /** By the SHA-256 of the secret, in hexadecimal digits. */
  readonly keys: ReadonlyMap<string, KeyEntry>
  /** By external model name, every status. */
  readonly publications: ReadonlyMap<string, PublicationEntry>
  readonly endpoints: ReadonlyMap<string, EndpointEntry>
  readonly tenants: ReadonlyMap<string, TenantEntry>
}

/** When an endpoint counts as unhealthy, and how long the pauses between probes are then. */
export interface HealthSettings {
  /** Failures in a row. */
  readonly unhealthyAfter: number
  readonly probeMinMs: number
  readonly probeMaxMs: number
}

/** Says whether a model name is among the names and globs that it was made from. */
export type ModelFilter = (model: string) => boolean

export interface KeyEntry {
  readonly name: string
  /** Under what it is counted and booked: its name, or the one under which it came. */
  readonly account: string
  readonly enabled: boolean
  /** Of the key or of this secret, whichever ends first; milliseconds since the epoch. */
  readonly expiresAtMs: number
  readonly mayUse: ModelFilter
  /** Absent for a platform key. */
  readonly tenant: TenantEntry | undefined
  readonly limits: RateLimits
  /** Tokens, input and output, for life. */
  readonly quotaTokens: number | undefined
  readonly budget: Budget | undefined
}

/** What may happen in a minute, and at a time. An absent limit is no limit. */
export interface RateLimits {
  /** Requests per minute. */
  readonly rpm: Rate | undefined
  /** Tokens per minute. */
  readonly tpm: Rate | undefined
  /** Requests at a time, each to its last byte. */
  readonly concurrency: number | undefined
}

/** Money that a key may spend in each window. */
export interface Budget {
  readonly amountNano: bigint
  readonly per: 'day' | 'month' | 'total'
  /** The IANA zone in which days and months begin. */
  readonly timezone: string
}

export interface TenantEntry {
  readonly name: string
  /** See {@link KeyEntry}. */
  readonly account: string
  readonly status: 'active' | 'disabled' | 'banned'
  readonly mayUse: ModelFilter
  readonly isBanned: ModelFilter
  /** Over all keys of the tenant together. */
  readonly limits: RateLimits
  /** `prepaid`: the wallet must cover each call. */
  readonly billing: 'postpaid' | 'prepaid'
}

export interface PublicationEntry {
  readonly name: string
  /** See {@link KeyEntry}. */
  readonly account: string
  /** The name as a JSON string, ready to be cut into a body. */
  readonly nameJson: Buffer
  readonly status: (typeof PUBLICATION_STATUSES)[number]
  /** The entry of `GET /v1/models`, as JSON. */
  readonly listing: string
  /** By protocol, sorted by tier; those with weight 0 or a disabled endpoint included. */
  readonly targets: Readonly<Record<Protocol, readonly Target[]>>
  /** In the order in which they come into force; see `priceAt`. */
  readonly prices: readonly DatedPrice[]
  /** Calls are rejected while no price is in force. */
  readonly requirePrice: boolean
  /** The context window; a bound for what is held. */
  readonly maxInputTokens?: number | undefined
  /** The output that a request without a limit of its own reserves. */
  readonly maxOutputTokens: number | undefined
  /** The field that is added to requests without a limit of their own. */
  readonly outputCap: 'none' | 'max_tokens' | 'max_completion_tokens'
  /** What becomes of an upstream whose client has left. */
  readonly onDisconnect: 'abort' | 'drain'
  /** What becomes of the bill of an answer that its upstream has broken off. */
  readonly onUpstreamError: 'charge' | 'free'
}

/** A price, from a moment on until the next one. */
export interface DatedPrice {
  /** Milliseconds since the epoch; `-Infinity`: always. */
  readonly fromMs: number
  readonly price: Price
  /** What the ledger keeps of it, see `priceText`. */
  readonly text: string
}

/** One endpoint that serves one publication. */
export interface Target {
  readonly endpoint: EndpointEntry
  readonly servedModel: string
  /** The served name as a JSON string, ready to be cut into a body. */
  readonly servedJson: Buffer
  readonly weight: number
  readonly priority: number
}

export interface EndpointEntry {
  readonly name: string
  /** See {@link KeyEntry}. */
  readonly account: string
  readonly protocol: Protocol
  /** Scheme, host and port. */
  readonly origin: string
  /** The path of `base_url`, without a slash at its end. */
  readonly basePath: string
  /** The model name that the upstream accepts, where a binding does not say otherwise. */
  readonly servedModel: string
  readonly enabled: boolean
  /** Never sent a probe: traffic alone judges it. */
  readonly skipProbe: boolean
  /** Requests at a time. */
  readonly maxConcurrency: number
  /** Header names and values in turn: the credential and the extra headers. */
  readonly headers: readonly string[]
  /** The address of the proxy that it is reached by, perhaps with user and password. */
  readonly proxy: string | undefined
  /** What of them is secret, to be kept out of messages. */
  readonly secrets: readonly string[]
  readonly connectMs: number
  readonly firstByteMs: number
  readonly idleMs: number
  readonly totalMs: number
}
