import type { ServerResponse } from 'node:http'
import type { Clock } from '../base/clock.ts'
import type { Bill } from '../metering/bill.ts'
import type { Attempt, Outcome, RequestRecord } from '../metering/request-log.ts'
import type { Protocol } from '../schema/endpoint.ts'
import type { KeyEntry } from '../snapshot/types.ts'
import { asGwError } from './error-response.ts'
import type { RequestIds } from './request-ids.ts'

const MAX_PATH_LENGTH = 256

export interface RequestContextPorts {
  readonly ids: RequestIds
  readonly clock: Clock
}

/** What becomes known of one request on its way, until it is recorded. */
export class RequestContext {
  readonly requestId: string
  /** Whose error shape it answers in. */
  readonly protocol: Protocol
  key: KeyEntry | undefined
  revision: number | undefined
  model: string | undefined
  /** The caller sees names of endpoints. */
  showsEndpoints = true
  /** The model as the client wrote it. */
  askedModel: string | undefined
  endpoint: string | undefined
  stream: boolean | undefined
  /** It was dispatched, and belongs into the call log. */
  isCall = false
  /** What it was charged by, where it came so far. */
  bill: Bill | undefined
  /** The header lines that tell a client its rates, as of when it is called; names and values in turn. */
  rateHeaders: () => readonly string[] = () => []
  /** What a browser application of another origin may read; names and values in turn. */
  corsHeaders: readonly string[] = []
  readonly #method: string
  readonly #path: string
  readonly #clock: Clock
  readonly #startedMs: number
  #firstByteMs: number | undefined
  #bodyReadMs: number | undefined
  #overheadMs: number | undefined
  #failedAttempts: readonly Attempt[] | undefined

  constructor(method: string, path: string, protocol: Protocol, ports: RequestContextPorts) {
    this.requestId = ports.ids.next()
    this.protocol = protocol
    this.#method = method
    this.#path = path.slice(0, MAX_PATH_LENGTH)
    this.#clock = ports.clock
    this.#startedMs = ports.clock.monotonicMs()
  }

  /** The whole request is here: from now on the client waits for the gateway. */
  bodyRead(): void {
    this.#bodyReadMs = this.#clock.monotonicMs()
  }

  /** It goes to an upstream: from now on the gateway waits. What comes again, for another attempt, is no news. */
  dispatched(): void {
    if (this.#bodyReadMs !== undefined) this.#overheadMs ??= this.#clock.monotonicMs() - this.#bodyReadMs
  }

  /** An endpoint was asked in vain. */
  attempted(endpoint: string, errorCode: string, reason: string | undefined): void {
    this.#failedAttempts = [...(this.#failedAttempts ?? []), { endpoint, errorCode, reason }]
  }

  /** The first byte of the answer is going out. */
  firstByte(): void {
    this.#firstByteMs = this.#clock.monotonicMs() - this.#startedMs
  }

  /** @param error What was thrown or broke off, where something did. */
  record(
    outcome: Outcome,
    res: Pick<ServerResponse, 'headersSent' | 'statusCode'>,
    error?: unknown,
  ): RequestRecord {
    const failure = error === undefined ? undefined : asGwError(error)
    // Every record has the same shape: objects of many shapes slow down all that reads them.
    return {
      requestId: this.requestId,
      method: this.#method,
      path: this.#path,
      protocol: this.protocol,
      outcome,
      status: res.headersSent ? res.statusCode : 0,
      errorCode: failure?.code,
      reason: failure?.reason,
      cause: failure?.cause,
      revision: this.revision,
      key: this.key?.name,
      tenant: this.key?.tenant?.name,
      model: this.model,
      endpoint: this.endpoint,
      stream: this.stream,
      charge: this.bill?.charge,
      latencyMs: this.#clock.monotonicMs() - this.#startedMs,
      firstByteMs: this.#firstByteMs,
      overheadMs: this.#overheadMs,
      attempts: this.#failedAttempts && this.#attempts(this.#failedAttempts),
    }
  }

  /** The last one is the one at `endpoint`: it may have failed, too. */
  #attempts(failed: readonly Attempt[]): readonly Attempt[] {
    const { endpoint } = this
    return endpoint === undefined || failed.at(-1)?.endpoint === endpoint ? failed : [...failed, { endpoint }]
  }
}
