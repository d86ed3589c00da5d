import type { ServerResponse } from 'node:http'
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import type { Attempt, Outcome, RequestRecord } from '../metering/request-log.ts'
import type { CallTrace } from '../metering/trace.ts'
import type { Protocol } from '../schema/protocol.ts'
import type { EndpointEntry, KeyEntry } from '../snapshot/types.ts'
import type { Bill } from './bill.ts'
import { asGwError } from './error-response.ts'

const MAX_PATH_LENGTH = 256

export interface RequestContextPorts {
  readonly ids: RequestIds
  readonly clock: Clock
}

/** The state of one request, collected for its log record. */
export class RequestContext {
  readonly requestId: string
  /** Selects the error format. */
  readonly protocol: Protocol
  key: KeyEntry | undefined
  revision: number | undefined
  model: string | undefined
  /** Answers to the client may name endpoints. */
  showsEndpoints = true
  /** The model as the client wrote it. */
  askedModel: string | undefined
  endpoint: string | undefined
  /** Of an endpoint on nodes. */
  node: string | undefined
  stream: boolean | undefined
  /** The request belongs in the call log. */
  isCall = false
  /** Set once a hold is open. */
  bill: Bill | undefined
  /** Present if the call is traced. */
  trace: CallTrace | undefined
  /** Names of the shadow limits that would have rejected the request, such as `key_rpm`. */
  shadowRejections: readonly string[] | undefined
  /** The current rate-limit headers; names and values alternate. */
  rateHeaders: () => readonly string[] = () => []
  /** The CORS headers; names and values alternate. */
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

  /** The request body is complete: from now on the client waits for the gateway. */
  bodyRead(): void {
    this.#bodyReadMs = this.#clock.monotonicMs()
  }

  /** Records the overhead until the first dispatch: from now on the gateway waits. Later calls have no effect. */
  dispatched(): void {
    if (this.#bodyReadMs !== undefined) this.#overheadMs ??= this.#clock.monotonicMs() - this.#bodyReadMs
  }

  /** Records where the request goes next. */
  routedTo({ name, node }: Pick<EndpointEntry, 'name' | 'node'>): void {
    this.endpoint = name
    this.node = node
  }

  /** Records that the attempt at the present endpoint has failed. */
  attemptFailed(errorCode: string, reason: string | undefined): void {
    const { endpoint = '', node } = this
    this.#failedAttempts = [...(this.#failedAttempts ?? []), { endpoint, node, errorCode, reason }]
  }

  /** Records that the first byte of the answer is sent. */
  firstByte(): void {
    this.#firstByteMs = this.#clock.monotonicMs() - this.#startedMs
  }

  /** @param error The error that was thrown or broke the answer, if any. */
  record(
    outcome: Outcome,
    res: Pick<ServerResponse, 'headersSent' | 'statusCode'>,
    error?: unknown,
  ): RequestRecord {
    const failure = error === undefined ? undefined : asGwError(error)
    // Every record has the same hidden class: polymorphic objects slow down their readers.
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
      node: this.node,
      stream: this.stream,
      charge: this.bill?.charge,
      latencyMs: this.#clock.monotonicMs() - this.#startedMs,
      firstByteMs: this.#firstByteMs,
      overheadMs: this.#overheadMs,
      shadowRejections: this.shadowRejections,
      attempts: this.#failedAttempts && this.#attempts(this.#failedAttempts),
      trace: this.trace?.ids,
    }
  }

  /** Appends the last attempt, at `endpoint`, unless it failed and is already listed. */
  #attempts(failed: readonly Attempt[]): readonly Attempt[] {
    const { endpoint, node } = this
    const last = failed.at(-1)
    const isListed = last?.endpoint === endpoint && last?.node === node
    return endpoint === undefined || isListed ? failed : [...failed, { endpoint, node }]
  }
}

/** Hexadecimal digits of randomness in each id. */
const RANDOM_DIGITS = 12
/** Hexadecimal digits of the time in milliseconds, sufficient until the year 10889. */
const TIME_DIGITS = 12
const POOL_BYTES = 1_536

/**
 * Generates request ids: `req_`, the time and random digits, in hexadecimal. They sort by time, so that rows written
 * together are adjacent in the ledger's indexes.
 */
export class RequestIds {
  readonly #clock: Clock
  readonly #random: Random
  #atMs = Number.NaN
  #prefix = ''
  #pool = ''
  #drawn = 0

  constructor(ports: { readonly clock: Clock; readonly random: Random }) {
    this.#clock = ports.clock
    this.#random = ports.random
  }

  next(): string {
    const nowMs = this.#clock.nowMs()
    if (nowMs !== this.#atMs) {
      this.#atMs = nowMs
      this.#prefix = `req_${nowMs.toString(16).padStart(TIME_DIGITS, '0')}`
    }
    if (this.#drawn >= this.#pool.length) {
      this.#pool = Buffer.from(this.#random.bytes(POOL_BYTES)).toString('hex')
      this.#drawn = 0
    }
    const random = this.#pool.slice(this.#drawn, this.#drawn + RANDOM_DIGITS)
    this.#drawn += RANDOM_DIGITS
    return this.#prefix + random
  }
}
