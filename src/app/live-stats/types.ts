import type { HealthBody } from '../health.ts'

/** What gateways did in a span of time, and how things stand at its end. Numbers are of that span alone. */
export interface LiveStats {
  readonly atMs: number
  /** Length of the span; 0 of the first look, which has no rates yet. */
  readonly seconds: number
  /** Of the store; absent where it was not asked. */
  readonly storeRevision?: number
  readonly gateways: readonly GatewayLiveStats[]
  readonly endpoints: readonly EndpointLiveStats[]
  /** How many of them are enabled and have neither answered nor failed; 0 where no gateway serves. */
  readonly unanswered: number
  readonly models: readonly Flow[]
  /** Absent where nobody may know: only `/metrics` tells. */
  readonly rejections?: readonly Rejection[]
  readonly keys: readonly KeyLiveStats[]
  readonly total: Total
  /** What could not be asked, and what would help, in sentences. */
  readonly notes: readonly string[]
}

export interface Total {
  readonly requestsPerSecond: number
  readonly tokensPerSecond: number
  /** Requests that have begun and not ended, streams among them. */
  readonly inFlight: number
  readonly rejectedPerSecond?: number
}

export interface GatewayLiveStats {
  /** `host:pid`, or its address. */
  readonly name: string
  readonly url?: string
  readonly revision: number
  /** It serves an older revision than the store holds. */
  readonly isBehind: boolean
  /** `silent`: the store has not heard of it for seconds, or it does not answer. */
  readonly state: HealthBody['status'] | 'silent'
  readonly reasons: readonly string[]
  readonly inFlight: number
  readonly version?: string
  readonly startedAtMs?: number
}

/** What went through an endpoint or a model. */
export interface Flow {
  readonly name: string
  readonly requestsPerSecond: number
  readonly tokensPerSecond: number
  /** Milliseconds from a request's first byte to its answer's last; absent where nothing was answered. */
  readonly p50Ms?: number
  readonly p95Ms?: number
  /** Share of the attempts or calls that were not answered, 0 to 1. */
  readonly failed: number
  /** Attempts by what came of them, the most frequent first; empty where only `/metrics` tells. */
  readonly results: readonly (readonly [result: string, count: number])[]
}

export interface EndpointLiveStats extends Flow {
  /** `unknown` until it has answered or failed. */
  readonly state: 'healthy' | 'unhealthy' | 'disabled' | 'unknown'
  /** Milliseconds since the epoch; absent where it is not known. */
  readonly sinceMs?: number
  /** Why it is unhealthy. */
  readonly reason?: string
}

export interface Rejection {
  /** An error code of the catalogue. */
  readonly reason: string
  readonly perSecond: number
  /** Since the gateway has started. */
  readonly total: number
}

/** The limit of a key that it has come nearest to. */
export interface KeyLiveStats {
  readonly name: string
  readonly tenant?: string
  readonly requestsPerSecond: number
  readonly tokensPerSecond: number
  /** Each limit that it has, the one most used first. */
  readonly limits: readonly LimitLiveStats[]
}

export interface LimitLiveStats {
  /** `budget/month`, `quota`, `rpm`, `tpm`. */
  readonly limit: string
  readonly used: string
  readonly of: string
  /** 1 is all of it. */
  readonly share: number
}
