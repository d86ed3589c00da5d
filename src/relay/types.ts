/**
 * What the relay is asked to do. It knows no keys and no money: an endpoint here is an origin, a path and header
 * lines.
 */
export interface Upstream {
  readonly name: string
  /** Scheme, host and port. */
  readonly origin: string
  /** The path of its base URL, without a slash at the end. */
  readonly basePath: string
  /** Header names and values in turn, the credential among them. */
  readonly headers: readonly string[]
  /** The address of the proxy that it is reached by, perhaps with user and password; absent: directly. */
  readonly proxy?: string | undefined
  readonly connectMs: number
  readonly firstByteMs: number
  readonly idleMs: number
  readonly totalMs: number
}

export interface UpstreamRequest {
  readonly upstream: Upstream
  /** Behind the base path: `/chat/completions`, with the client's query string. */
  readonly pathAndQuery: string
  /** The client's header lines as they came, names and values in turn. */
  readonly headers: readonly string[]
  /** The body in pieces, ready to be sent; emptied once it has gone and an answer has begun. */
  readonly body: Buffer[]
  readonly lengthBytes: number
  /** Its answer is a stream, which may take many minutes. */
  readonly isLong: boolean
}

/** The head of an upstream's answer. */
export interface Head {
  readonly status: number
  /** Names and values in turn, as they came. */
  readonly headers: readonly string[]
}

/** Whoever a request is relayed for: one of the two comes, once, and never before the call that began it has returned. */
export interface AnswerHandler {
  /** An answer has begun. @returns what its body goes to, from the first byte on. */
  onAnswer(answering: Answering): BodySink
  /** There is none; or what `onAnswer` itself has thrown. */
  onNoAnswer(error: unknown): void
}

/** An exchange that has a head, and its body behind it. */
export interface Answering {
  readonly exchange: Answered
  readonly head: Head
}

/** What can be done to an exchange whose body is on its way. */
export interface Answered {
  /** Lets the upstream go on after {@link BodySink.onPiece} has asked it to wait. */
  resume(): void
  /** Ends the exchange from this side: the connection is cut at once. A second call does nothing. */
  abort(reason: Error): void
}

/** Takes an answer's body. Exactly one of `onEnd` and `onBreak` comes, once, last. */
export interface BodySink {
  /** @returns false to hold the upstream until {@link Answered.resume}. */
  onPiece(piece: Buffer): boolean
  onEnd(): void
  onBreak(error: unknown): void
}

/** What looks at an answer while it passes, and changes nothing. */
export interface AnswerObserver {
  /**
   * A member that may tell usage: `usage`, `meta`, or `message.usage` of the event that begins an Anthropic stream;
   * `json` is its value.
   */
  onMember(name: string, json: Buffer): void
  /**
   * A part of the body has come, and in it this many bytes of text that the model wrote: what an estimate goes by when
   * no usage comes.
   */
  onText(bytes: number): void
}
