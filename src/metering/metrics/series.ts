import { formatNano } from '../../base/decimal.ts'
import type { UsageDialect } from '../../schema/paths.ts'
import type { Charge } from '../charge.ts'
import type { RequestRecord } from '../request-log.ts'
import { TRAFFIC_METRICS } from './catalogue.ts'
import type { CounterSeries } from './counters.ts'
import { Buckets, labelText, sample } from './exposition.ts'

/** A counter that is incremented in place. */
interface Count {
  n: number
}

/** A path that may be a label, with OpenTelemetry's name of its operation. */
export interface MeteredPath {
  readonly path: string
  readonly protocol: string
  /** Absent for paths without a model. */
  readonly operation?: string
}

/** The well-known names of `gen_ai.operation.name`, or our own if there is none. */
export const OPERATIONS = {
  openai_chat: 'chat',
  completions: 'text_completion',
  responses: 'chat',
  images: 'generate_image',
  speech: 'generate_speech',
  moderations: 'moderate',
  transcription: 'transcribe',
  anthropic_messages: 'chat',
  embeddings: 'embeddings',
  rerank: 'rerank',
} as const satisfies Record<UsageDialect, string>

/** The series of one model on one path, for all endpoints. */
export class ModelSeries {
  /** The name of the publication; empty if the request was rejected before. */
  readonly model: string
  readonly labels: string
  readonly endpoints = new Map<string, EndpointSeries>()
  readonly #inputTokens = new Buckets(TRAFFIC_METRICS.gen_ai_client_token_usage.buckets)
  readonly #outputTokens = new Buckets(TRAFFIC_METRICS.gen_ai_client_token_usage.buckets)
  #isCharged = false

  constructor({ protocol, operation = '' }: MeteredPath, model: string) {
    this.model = model
    this.labels = labelText(
      'gen_ai_operation_name',
      operation,
      'gen_ai_provider_name',
      protocol,
      'gen_ai_request_model',
      model,
    )
  }

  add({ charge }: RequestRecord): void {
    if (!charge) return
    this.#isCharged = true
    this.#inputTokens.observe(charge.usage.inputTokens)
    this.#outputTokens.observe(charge.usage.outputTokens)
  }

  tokenUsage(name: string): string {
    if (!this.#isCharged) return ''
    return (
      this.#inputTokens.lines(name, `${this.labels},gen_ai_token_type="input"`) +
      this.#outputTokens.lines(name, `${this.labels},gen_ai_token_type="output"`)
    )
  }
}

/** The series of one endpoint; the endpoint '' is for requests that reached none. */
export class EndpointSeries {
  readonly #labels: string
  readonly #genAiLabels: string
  readonly #model: string
  readonly #endpoint: string
  /** By status and outcome. */
  readonly #requests = new Map<string, Map<number, Count>>()
  /** By error, '' for none. */
  readonly #durations = new Map<string, Buckets>()
  #firstBytes: Buckets | undefined
  #firstBytesOfStreams: Buckets | undefined
  #charged = 0
  #freshTokens = 0
  #cachedTokens = 0
  #cacheWriteTokens = 0
  #outputTokens = 0
  #costNano = 0n
  #unpriced = 0
  #estimated = 0

  constructor(path: string, model: ModelSeries, endpoint: string) {
    this.#model = model.model
    this.#endpoint = endpoint
    this.#labels = labelText('path', path, 'model', model.model, 'endpoint', endpoint)
    this.#genAiLabels = `${model.labels},${labelText('endpoint', endpoint)}`
  }

  add(record: RequestRecord): void {
    const { outcome, status, charge, firstByteMs } = record
    let byStatus = this.#requests.get(outcome)
    if (!byStatus) this.#requests.set(outcome, (byStatus = new Map()))
    const count = byStatus.get(status)
    if (count) count.n++
    else byStatus.set(status, { n: 1 })
    if (charge) this.#charge(charge)
    // Latency counts only dispatched requests.
    if (record.overheadMs === undefined) return
    const error = errorType(record)
    let durations = this.#durations.get(error)
    if (!durations) this.#durations.set(error, (durations = durationBuckets()))
    durations.observe(record.latencyMs / 1000)
    if (firstByteMs !== undefined && error === '') this.#firstByte(record.stream).observe(firstByteMs / 1000)
  }

  counters(): CounterSeries {
    const outcomes: Record<string, number> = {}
    for (const [outcome, byStatus] of this.#requests) {
      let count = 0
      for (const { n } of byStatus.values()) count += n
      outcomes[outcome] = count
    }
    const durations: Record<string, number> = {}
    for (const buckets of this.#durations.values()) buckets.addTo(durations)
    return {
      id: this.#labels,
      model: this.#model,
      endpoint: this.#endpoint,
      outcomes,
      tokens: this.#freshTokens + this.#cachedTokens + this.#cacheWriteTokens + this.#outputTokens,
      durations,
    }
  }

  requests(name: string): string {
    let text = ''
    for (const [outcome, byStatus] of this.#requests)
      for (const [status, { n }] of byStatus)
        text += sample(name, `${this.#labels},status="${status}",outcome="${outcome}"`, n)
    return text
  }

  durations(name: string): string {
    let text = ''
    for (const [error, buckets] of this.#durations)
      text += buckets.lines(name, `${this.#genAiLabels},error_type="${error}"`)
    return text
  }

  firstBytes(name: string): string {
    return (
      (this.#firstBytes?.lines(name, `${this.#labels},stream="false"`) ?? '') +
      (this.#firstBytesOfStreams?.lines(name, `${this.#labels},stream="true"`) ?? '')
    )
  }

  tokens(name: string): string {
    if (this.#charged === 0) return ''
    return (
      sample(name, `${this.#labels},class="input"`, this.#freshTokens) +
      sample(name, `${this.#labels},class="cached_input"`, this.#cachedTokens) +
      sample(name, `${this.#labels},class="cache_write"`, this.#cacheWriteTokens) +
      sample(name, `${this.#labels},class="output"`, this.#outputTokens)
    )
  }

  cost(name: string): string {
    return this.#charged === 0 ? '' : sample(name, this.#labels, formatNano(this.#costNano))
  }

  unpriced(name: string): string {
    return this.#charged === 0 ? '' : sample(name, this.#labels, this.#unpriced)
  }

  estimated(name: string): string {
    return this.#charged === 0 ? '' : sample(name, this.#labels, this.#estimated)
  }

  #charge({ usage, amountNano, flags }: Charge): void {
    this.#charged++
    this.#freshTokens += Math.max(usage.inputTokens - usage.cachedInputTokens - usage.cacheWriteTokens, 0)
    this.#cachedTokens += usage.cachedInputTokens
    this.#cacheWriteTokens += usage.cacheWriteTokens
    this.#outputTokens += usage.outputTokens
    if (amountNano !== 0n) this.#costNano += amountNano
    if (flags.length === 0) return
    if (flags.includes('unpriced')) this.#unpriced++
    if (flags.includes('estimated')) this.#estimated++
  }

  #firstByte(stream: boolean | undefined): Buckets {
    if (stream) return (this.#firstBytesOfStreams ??= firstByteBuckets())
    return (this.#firstBytes ??= firstByteBuckets())
  }
}

/** OpenTelemetry's `error.type`; empty without an error. */
function errorType({ errorCode, outcome, status }: RequestRecord): string {
  if (errorCode !== undefined) return errorCode
  if (outcome === 'client_gone') return outcome
  return status >= 400 ? String(status) : ''
}

function durationBuckets(): Buckets {
  return new Buckets(TRAFFIC_METRICS.gen_ai_server_request_duration_seconds.buckets)
}

function firstByteBuckets(): Buckets {
  return new Buckets(TRAFFIC_METRICS.gw_time_to_first_byte_seconds.buckets)
}
