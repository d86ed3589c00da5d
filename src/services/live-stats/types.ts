import type { HealthBody } from '../health.ts'

/** The activity of gateways in a span of time, and their state at its end. Rates cover only the span. */
export interface LiveStats {
  readonly atMs: number
  /** Length of the span; 0 for the first sample, which has no rates yet. */
  readonly seconds: number
  /** Of the store; absent if the store was not read. */
  readonly storeRevision?: number
  readonly gateways: readonly GatewayLiveStats[]
  readonly endpoints: readonly EndpointLiveStats[]
  /** Enabled endpoints that have neither answered nor failed; 0 if no gateway serves. */
  readonly unanswered: number
  readonly models: readonly Flow[]
  /** Absent if no gateway tells its counters: the store has no rejections. */
  readonly rejections?: readonly Rejection[]
  readonly keys: readonly KeyLiveStats[]
  readonly total: Total
  /** Sources that could not be read, and what would help, in sentences. */
  readonly notes: readonly string[]
}

export interface Total {
  readonly requestsPerSecond: number
  readonly tokensPerSecond: number
  /** Requests in flight, streams included. */
  readonly inFlight: number
  readonly rejectedPerSecond?: number
}

export interface GatewayLiveStats {
  /** `host:pid`, or the address. */
  readonly name: string
  readonly url?: string
  readonly revision: number
  /** Serves an older revision than the newest in the store. */
  readonly isBehind: boolean
  /** `silent`: no report in the store for seconds, or no answer. */
  readonly state: HealthBody['status'] | 'silent'
  readonly reasons: readonly string[]
  readonly inFlight: number
  readonly version?: string
  readonly startedAtMs?: number
}

/** The traffic of an endpoint or a model. */
export interface Flow {
  readonly name: string
  readonly requestsPerSecond: number
  readonly tokensPerSecond: number
  /** Milliseconds from the first byte of a request to the last byte of its answer; absent without answers. */
  readonly p50Ms?: number
  readonly p95Ms?: number
  /** Share of the attempts or calls that were not answered, 0 to 1. */
  readonly failed: number
  /** Attempts by result, most frequent first; empty if the traffic is read from the store. */
  readonly results: readonly (readonly [result: string, count: number])[]
}

export interface EndpointLiveStats extends Flow {
  /** `unknown` before the first answer or failure. */
  readonly state: 'healthy' | 'unhealthy' | 'disabled' | 'unknown'
  /** Milliseconds since the epoch; absent if unknown. */
  readonly sinceMs?: number
  /** Why it is unhealthy. */
  readonly reason?: string
}

export interface Rejection {
  /** An error code of the catalogue. */
  readonly reason: string
  readonly perSecond: number
  /** Since the start of the gateway. */
  readonly total: number
}

/** A key with its use of limits. */
export interface KeyLiveStats {
  readonly name: string
  readonly tenant?: string
  readonly requestsPerSecond: number
  readonly tokensPerSecond: number
  /** Its limits, most used first. */
  readonly limits: readonly LimitLiveStats[]
}

export interface LimitLiveStats {
  /** `budget/month`, `quota`, `rpm`, `tpm`. */
  readonly limit: string
  readonly used: string
  readonly of: string
  /** 1 means fully used. */
  readonly share: number
}
