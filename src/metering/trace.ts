import type { UsageDialect } from '../schema/paths.ts'
import type { RequestRecord, TraceIds } from './request-log.ts'

/**
 * Traces of calls as the request path uses them. `tracing/` implements them with OpenTelemetry; without a tracer nothing
 * is loaded, and a call costs one comparison.
 */

/** The kind of a traced request. */
export type TracedOperation = UsageDialect | 'count_tokens' | 'stored_response'

export interface CallTracer {
  /**
   * Begins the trace of a call, or continues the client's.
   *
   * @param headers Of the client, in lower case.
   * @returns undefined if the call is not sampled.
   */
  begin(
    headers: Readonly<Record<string, string | string[] | undefined>>,
    operation: TracedOperation,
  ): CallTrace | undefined
}

/** A sampled call. */
export interface CallTrace {
  readonly ids: TraceIds
  /** Begins a part of the call. */
  step(name: 'hold' | 'settle'): TracedStep
  /** Begins an attempt at an endpoint. */
  attempt(endpoint: TracedEndpoint): TracedAttempt
  /** Must be called once. */
  end(record: RequestRecord): void
}

/** The endpoint of an attempt. */
export interface TracedEndpoint {
  readonly name: string
  /** Its scheme, host and port; of no meaning on a node. */
  readonly origin: string
  readonly node: string | undefined
}

/** A part of a call. */
export interface TracedStep {
  /** A second call has no effect. @param errorCode Present if the part failed. */
  end(errorCode?: string): void
}

export interface TracedAttempt {
  /** The client's headers with the context of this attempt instead of the client's; names and values alternate. */
  headers(lines: readonly string[]): readonly string[]
  /** A second call has no effect. @param status Of the endpoint's answer; 0 or absent without one. */
  end(status: number | undefined, errorCode?: string): void
}
