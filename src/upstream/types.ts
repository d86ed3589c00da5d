import type { TlsMaterial } from '../base/tls-material.ts'

/**
 * The address and timeouts of an endpoint. This module knows neither keys nor money: to it an endpoint is an origin, a path
 * and headers.
 */
export interface Upstream {
  readonly name: string
  /** Scheme, host and port. */
  readonly origin: string
  /** The node with the engine, to which a stream leads; absent: a connection to the origin. */
  readonly node?: string | undefined
  readonly nodes?: { readonly engine: string } | undefined
  /** The path of its base URL, without a slash at the end. */
  readonly basePath: string
  /** Header names and values alternate; includes the credential. */
  readonly headers: readonly string[]
  /** Address of the proxy, possibly with user and password; absent: direct connection. */
  readonly proxy?: string | undefined
  /** Certificates for the connection to its origin, not to the proxy. */
  readonly tls?: TlsMaterial | undefined
  readonly connectMs: number
  readonly firstByteMs: number
  readonly idleMs: number
  readonly totalMs: number
}

export interface UpstreamRequest {
  readonly upstream: Upstream
  readonly method: 'POST' | 'GET' | 'DELETE'
  /** Appended to the base path: `/chat/completions`, with the client's query string. */
  readonly pathAndQuery: string
  /** The client's headers as received; names and values alternate. */
  readonly headers: readonly string[]
  /** Sent in place of the client's `content-type`; undefined: the client's is forwarded. */
  readonly contentType: string | undefined
  /** The body in pieces, emptied once it has been sent and an answer has begun; or a function that reads it anew. */
  readonly body: Buffer[] | (() => AsyncIterable<Buffer>)
  readonly lengthBytes: number
  /** Its answer may be neither JSON nor an event stream. */
  readonly mayBeOpaque: boolean
}

/** The head of an upstream's answer. */
export interface Head {
  readonly status: number
  /** As received; names and values alternate. */
  readonly headers: readonly string[]
}

/** Receives the result of a request: exactly one of these callbacks, once, never before the starting call has returned. */
export interface AnswerHandler {
  /** An answer has begun. @returns the sink of its body. */
  onAnswer(exchange: Answered, head: Head): BodySink
  /** The request failed, or `onAnswer` threw `error`. */
  onNoAnswer(error: unknown): void
}

/** Controls an exchange whose head has arrived, while its body is streaming. */
export interface Answered {
  /** Continues after {@link BodySink.onPiece} returned false. */
  resume(): void
  /** Ends the exchange and closes its connection immediately. A second call has no effect. */
  abort(reason: Error): void
}

/** Receives an answer's body. Exactly one of `onEnd` and `onBreak` is called, once, as the last callback. */
export interface BodySink {
  /** @returns false to pause the upstream until {@link Answered.resume}. */
  onPiece(piece: Buffer): boolean
  /** Like {@link onPiece}, for all bytes of one read. They are valid during the call only. */
  onRead?(bytes: Buffer): boolean
  onEnd(): void
  onBreak(error: unknown): void
}

/** Observes a streaming answer without changing it. */
export interface AnswerObserver {
  /**
   * A member that may contain usage: `usage`, `meta`, or `message.usage` of the first event of an Anthropic stream; `json`
   * is its value.
   */
  onMember(name: string, json: Buffer): void
  /**
   * A part of the body with this many bytes of text written by the model: the basis of an estimate if there is no usage.
   */
  onText(bytes: number): void
  /** The upstream may have stored a response, or an item of its output, under this id. */
  onStoredId?(of: 'response' | 'item', id: string): void
}
