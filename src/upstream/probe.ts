import type { CallPath } from '../schema/paths.ts'
import type { Protocol } from '../schema/protocol.ts'
import type { Upstream } from './types.ts'

/** The endpoint of a probe; an `EndpointEntry` of the snapshot is assignable to it. */
export interface ProbeTarget extends Upstream {
  readonly protocol: Protocol
  /** The model name that the upstream accepts. */
  readonly servedModel: string
  /** The paths that it serves; undefined: all of its protocol. */
  readonly paths?: readonly CallPath[] | undefined
  /** The secrets in `headers`, which no message may contain. */
  readonly secrets: readonly string[]
  /** Source of the credential in `headers`, for messages: `env:OPENAI_API_KEY`. */
  readonly credential?: string
}

/** The cause of a failed probe, by what the operator has to fix. */
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

/** The cause of a failed probe and its fix: each one or more sentences on one line. Never contains a secret. */
export interface Diagnosis {
  readonly fault: ProbeFault
  readonly cause: string
  readonly hint: string
  /** Status of the answer, if there was one. */
  readonly status?: number
  /** Fields of the endpoint that would fix it, if they are known. */
  readonly fix?: { readonly base_url?: string; readonly protocol?: Protocol }
}

/**
 * The service that answered: chat is tried first, the others if the upstream has no chat for the model. A service whose
 * path is not among the `paths` of the endpoint is left out.
 */
export type ProbedService = 'chat' | 'embeddings' | 'rerank' | 'completions' | 'responses'

/** `latencyMs` is the time of the decisive request, from connecting to its last byte. */
export type ProbeOutcome =
  | {
      readonly ok: true
      readonly latencyMs: number
      /** `models` if only the list of models was requested, `path` if no service of its `paths` has a minimal request. */
      readonly service: ProbedService | 'models' | 'path'
      /** It answered 429: it is reachable and accepts the credential. */
      readonly rateLimited: boolean
    }
  | { readonly ok: false; readonly latencyMs: number; readonly diagnosis: Diagnosis }

export interface ProbeOptions {
  /**
   * For each request, including its connection. All requests that diagnose a failure have the same time together.
   * Shorter `timeouts` of the endpoint take precedence.
   */
  readonly timeoutMs: number
  /** Ends the probe early; its result is meaningless then. */
  readonly signal?: AbortSignal
}

/**
 * Checks whether an upstream works, on separate connections that are closed afterwards. No method ever rejects, follows
 * a redirect, connects to a metadata address, or reads more than 1 MiB.
 */
export interface Probe {
  /** Sends one minimal chat in the endpoint's protocol, and diagnoses its failure. */
  chat(target: ProbeTarget, options: ProbeOptions): Promise<ProbeOutcome>
  /** The models that `GET {base_url}/models` lists, free of charge; undefined if there is no list. */
  list(target: ProbeTarget, options: ProbeOptions): Promise<readonly string[] | undefined>
  /**
   * The paths of the endpoint's protocol that the upstream knows, free of charge: an empty request is no call. Undefined
   * if a request got no answer.
   *
   * @param proven the path that has answered already; undefined: none.
   */
  paths(
    target: ProbeTarget,
    proven: CallPath | undefined,
    options: ProbeOptions,
  ): Promise<readonly CallPath[] | undefined>
  /**
   * For the health checker (spec/requests.md §4): requests the free list of models, and sends a chat only if there is no
   * list or the model is not in it.
   *
   * @param hasAnswered The endpoint recently answered with an error (401, 500): a list of models would prove nothing, so
   * the probe sends a chat.
   */
  check(target: ProbeTarget, hasAnswered: boolean, options: ProbeOptions): Promise<ProbeOutcome>
}
