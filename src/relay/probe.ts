import type { Protocol } from '../schema/endpoint.ts'
import type { Upstream } from './types.ts'

/** An endpoint as a probe asks it; an `EndpointEntry` of the snapshot is one. */
export interface ProbeTarget extends Upstream {
  readonly protocol: Protocol
  /** The model name that the upstream accepts. */
  readonly servedModel: string
}

/** Why an endpoint does not answer as it should, by what has to be mended. */
export type ProbeFault =
  | 'secret'
  | 'dns'
  | 'link_local'
  | 'refused'
  | 'unreachable'
  | 'connect_timeout'
  | 'tls'
  | 'first_byte_timeout'
  | 'stalled'
  | 'broken'
  | 'redirect'
  | 'credential'
  | 'payment'
  | 'path'
  | 'model'
  | 'protocol'
  | 'request'
  | 'upstream'

/** What went wrong, and what would mend it: each one or more sentences. Never a secret. */
export interface Diagnosis {
  readonly fault: ProbeFault
  readonly cause: string
  readonly mend: string
  /** Of the answer that told, where there was one. */
  readonly status?: number
}

/** What answered: chat is asked for first, the others where the upstream has no chat for the model. */
export type ProbedService = 'chat' | 'embeddings' | 'rerank'

/** `latencyMs` is of the request that told: connection, answer and its last byte. */
export type ProbeOutcome =
  | {
      readonly ok: true
      readonly latencyMs: number
      readonly service: ProbedService
      /** It answered 429: it is there and knows the credential, and has enough to do. */
      readonly rateLimited: boolean
    }
  | { readonly ok: false; readonly latencyMs: number; readonly diagnosis: Diagnosis }

/** What a probe that costs nothing could find out. */
export type FreeOutcome =
  | { readonly verdict: 'healthy' }
  | { readonly verdict: 'unhealthy'; readonly diagnosis: Diagnosis }
  | { readonly verdict: 'cannot_tell' }

export interface ProbeOptions {
  /** For each request and for the diagnosis of a failure: the time after which it counts as failed. */
  readonly timeoutMs: number
  /** Ends the probe early; what it gives then means nothing. */
  readonly signal?: AbortSignal
}

/**
 * Asks an upstream for a sign of life, over a connection of its own that is closed when the answer is known. No
 * method ever rejects, follows a redirect, or reads more than 1 MiB.
 */
export interface Probe {
  /** One minimal chat in the endpoint's protocol; where it fails, why. */
  chat(target: ProbeTarget, options: ProbeOptions): Promise<ProbeOutcome>
  /** `GET {base_url}/models`, which costs nothing. */
  free(target: ProbeTarget, options: ProbeOptions): Promise<FreeOutcome>
  /** For the background (DESIGN §7): the free question, and a chat only where that cannot tell. */
  heal(target: ProbeTarget, options: ProbeOptions): Promise<ProbeOutcome>
}
