import type { TlsMaterial } from '../base/tls-material.ts'
import type { Price } from '../schema/ledger.ts'
import type { Rate } from '../schema/limits.ts'
import type { CallPath } from '../schema/paths.ts'
import type { Protocol } from '../schema/protocol.ts'
import type { PUBLICATION_STATUSES } from '../schema/publication.ts'
import type { Durability } from '../schema/settings.ts'

/**
 * The configuration in the form that requests use: compiled once and frozen. A request takes the current snapshot when it
 * begins, and keeps it to its end; a reload swaps one reference.
 */
export interface Snapshot {
  readonly revision: number
  readonly keyVersion: number
  /** The message for clients during maintenance, manual or by settings; else undefined. */
  readonly maintenance: string | undefined
  /** The maintenance settings. */
  readonly declaredMaintenance: { readonly enabled: boolean; readonly message: string }
  readonly bodyLimitBytes: number
  /** Origins of browser applications that may call; absent if none are configured. */
  readonly corsOrigins: ReadonlySet<string> | undefined
  /** Answers to clients may name endpoints. */
  readonly showEndpoints: boolean
  /** A label for amounts of money; nothing is converted. */
  readonly currency: string
  /** Whether embeddings write a call log, too. */
  readonly logEmbeddings: boolean
  readonly logRetentionMs: number
  /** How long clients can refer to an answer that an upstream keeps. */
  readonly responseRetentionMs: number
  /** What an acknowledged charge survives: a power cut, or the end of the process. */
  readonly durability: Durability
  /** Retention of earlier revisions, and how many are always kept for a rollback. */
  readonly revisions: { readonly retentionMs: number; readonly keep: number }
  readonly health: HealthSettings
  /** By the SHA-256 of the secret, in hexadecimal digits. */
  readonly keys: ReadonlyMap<string, KeyEntry>
  /** By external model name, every status. */
  readonly publications: ReadonlyMap<string, PublicationEntry>
  readonly endpoints: ReadonlyMap<string, EndpointEntry>
  readonly tenants: ReadonlyMap<string, TenantEntry>
  /** The declared nodes. */
  readonly nodes: ReadonlyMap<string, NodeEntry>
  /** Who may join: declared nodes only, or every holder of a join token. */
  readonly nodeAdmission: 'declared' | 'token'
}

/** A declared node. */
export interface NodeEntry {
  readonly name: string
  readonly labels: ReadonlyMap<string, string>
  /** The engines that may be used; undefined: all that it offers. */
  readonly engines: ReadonlySet<string> | undefined
}

/** The nodes of an endpoint. */
export interface NodeChoice {
  /** Labels that a node must have. */
  readonly labels: readonly (readonly [label: string, value: string])[]
  /** Undefined: any name. */
  readonly names: ReadonlySet<string> | undefined
  readonly engine: string
  /** Requests at a time on each node. */
  readonly maxConcurrency: number
}

/** When an endpoint becomes unhealthy, and the pauses between its probes. */
export interface HealthSettings {
  /** Failures in a row. */
  readonly unhealthyAfter: number
  readonly probeMinMs: number
  readonly probeMaxMs: number
}

/** Whether a model name matches the names and globs of the filter. */
export type ModelFilter = (model: string) => boolean

export interface KeyEntry {
  readonly name: string
  /** Its name in limits and ledger: its first name, which a rename keeps. */
  readonly account: string
  readonly enabled: boolean
  /** End of the key or of this secret, whichever is earlier; milliseconds since the epoch. */
  readonly expiresAtMs: number
  readonly mayUse: ModelFilter
  /** Absent for a platform key. */
  readonly tenant: TenantEntry | undefined
  readonly limits: RateLimits
  /** Tokens, input and output, for life. */
  readonly quotaTokens: number | undefined
  readonly budget: Budget | undefined
  readonly shadow: ShadowLimits
}

/** The names of limits that count and reject nothing. Undefined: none, so that a request need not ask for each. */
export type ShadowLimits = ReadonlySet<string> | undefined

/** Rates per minute, and concurrency. An absent limit means unlimited. */
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
  /** For all keys of the tenant together. */
  readonly limits: RateLimits
  readonly shadow: ShadowLimits
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
  /** By protocol, sorted by tier; includes targets with weight 0 or a disabled endpoint. */
  readonly targets: Readonly<Record<Protocol, readonly Target[]>>
  /** The targets at the paths that not all targets of their protocol serve; read by `targetsAt`. */
  readonly restricted: ReadonlyMap<string, readonly Target[]> | undefined
  /** Ordered by their start; see `priceAt`. */
  readonly prices: readonly DatedPrice[]
  /** Calls are rejected while no price is in force. */
  readonly requirePrice: boolean
  /** The context window; limits the held input. */
  readonly maxInputTokens?: number | undefined
  /** The output that a request without a limit of its own reserves. */
  readonly maxOutputTokens: number | undefined
  /** The field that is added to requests without a limit of their own. */
  readonly outputCap: 'none' | 'max_tokens' | 'max_completion_tokens'
  /** What to do with the upstream request after a client disconnect. */
  readonly onDisconnect: 'abort' | 'drain'
  /** Whether to charge an answer that its upstream broke off. */
  readonly onUpstreamError: 'charge' | 'free'
}

/** A price with its start; it is in force until the next one. */
export interface DatedPrice {
  /** Milliseconds since the epoch; `-Infinity`: always. */
  readonly fromMs: number
  readonly price: Price
  /** The price as stored in the ledger, see `priceText`. */
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
  /** Its engines are on nodes, to which the gateway has streams instead of connections. */
  readonly nodes: NodeChoice | undefined
  /**
   * The node of this entry. Such entries exist at run time only: one for each connected node of an endpoint with
   * `nodes`.
   */
  readonly node: string | undefined
  /** The path of `base_url`, without a slash at its end. */
  readonly basePath: string
  /** The model name at the upstream, unless a binding overrides it. */
  readonly servedModel: string
  /** The paths that it serves; undefined: all of its protocol. */
  readonly paths: readonly CallPath[] | undefined
  readonly enabled: boolean
  /** Never probed: only requests determine its health. */
  readonly skipProbe: boolean
  /** Requests at a time. */
  readonly maxConcurrency: number
  /** The credential and the extra headers; names and values alternate. */
  readonly headers: readonly string[]
  /** Address of the proxy, possibly with user and password. */
  readonly proxy: string | undefined
  /** Absent: the authorities of the system, and no client certificate. */
  readonly tls: TlsMaterial | undefined
  /** The secrets in headers and proxy, to be kept out of messages. */
  readonly secrets: readonly string[]
  readonly connectMs: number
  readonly firstByteMs: number
  readonly idleMs: number
  readonly totalMs: number
}
