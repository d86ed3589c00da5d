import type { Protocol } from '../schema/endpoint.ts'
import type { Upstream } from './types.ts'

/** An endpoint as a probe asks it; an `EndpointEntry` of the snapshot is one. */
export interface ProbeTarget extends Upstream {
  readonly protocol: Protocol
  /** The model name that the upstream accepts. */
  readonly servedModel: string
  /** What of `headers` is secret: no message may hold it. */
  readonly secrets: readonly string[]
  /** Where the credential in `headers` comes from, such as `env:OPENAI_API_KEY`, to name it in messages. */
  readonly credential?: string
}

/** Why an endpoint does not answer as it should, by what has to be mended. */
export type ProbeFault =
  | 'secret'
  | 'dns'
  | 'link_local'
  | 'proxy'
  | 'rejected'
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

/** What went wrong, and what would hint it: each one or more sentences on one line. Never a secret. */
export interface Diagnosis {
  readonly fault: ProbeFault
  readonly cause: string
  readonly hint: string
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
      /** `models` where only a list was asked for. */
      readonly service: ProbedService | 'models'
      /** It answered 429: it is there and knows the credential, and has enough to do. */
      readonly rateLimited: boolean
    }
  | { readonly ok: false; readonly latencyMs: number; readonly diagnosis: Diagnosis }

export interface ProbeOptions {
  /**
   * For each request, connection included; the requests that find out why one failed have as much together. Where
   * the endpoint's own `timeouts` are shorter they hold.
   */
  readonly timeoutMs: number
  /** Ends the probe early; what it gives then means nothing. */
  readonly signal?: AbortSignal
}

/**
 * Asks an upstream for a sign of life, over connections of its own that are closed when the answer is known. No
 * method ever rejects, follows a redirect, connects to a metadata address, or reads more than 1 MiB.
 */
export interface Probe {
  /** One minimal chat in the endpoint's protocol; where it fails, what would hint it. */
  chat(target: ProbeTarget, options: ProbeOptions): Promise<ProbeOutcome>
  /** The models that `GET {base_url}/models` lists, which costs nothing; undefined where it gives no list. */
  list(target: ProbeTarget, options: ProbeOptions): Promise<readonly string[] | undefined>
  /**
   * For the background (spec/requests.md §4): asks only what is free, and chats where that cannot tell: where there is no list
   * of models, or the model is not in it.
   *
   * @param hasAnswered The endpoint answered lately, and wrongly (401, 500): that it lists its models tells nothing,
   * so it is asked for a chat.
   */
  check(target: ProbeTarget, hasAnswered: boolean, options: ProbeOptions): Promise<ProbeOutcome>
}
