/** The environment variables of OpenTelemetry that `gw serve` reads; the exporter itself reads those of TLS and compression. */

/** The samplers of the specification; those of `parentbased_` follow the decision of the client, who is trusted then. */
const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const

export type SamplerName = (typeof SAMPLERS)[number]

export interface TracingOptions {
  /** The URL of the collector for traces. */
  readonly url: string
  /** May contain credentials. */
  readonly headers: Readonly<Record<string, string>>
  readonly resource: Readonly<Record<string, string>>
  readonly sampler: SamplerName
  /** The share of traces that are recorded, from 0 to 1; of samplers with a ratio. */
  readonly ratio: number
  /** Limit of one export, with its retries. */
  readonly exportTimeoutMs: number
  /** How long spans wait for others, to be exported together. */
  readonly exportDelayMs: number
  /** Limit of waiting spans; more are dropped. */
  readonly maxWaitingSpans: number
}

export interface ReadTracing {
  /** Absent: tracing is off. */
  readonly options?: TracingOptions
  /** Values that are ignored, with the reason. Never contain a header. */
  readonly problems: readonly string[]
}

/** If no sampler is configured: recording every call of a busy gateway would cost more than it tells. */
const DEFAULT_RATIO = 0.01
/** Shorter than in the specification (10 s): a collector is near, and the last export may delay the end of the process. */
const EXPORT_TIMEOUT_MS = 5_000
const EXPORT_DELAY_MS = 5_000
const MAX_WAITING_SPANS = 2_048

type Environment = Readonly<Record<string, string | undefined>>

/** Reads the variables. A value that cannot be used never prevents serving. @param version Of gw, for the resource. */
export function readTracing(environment: Environment, version: string): ReadTracing {
  const read = (name: string) => filled(environment[name])
  const problems: string[] = []
  const isDisabled =
    read('OTEL_SDK_DISABLED')?.toLowerCase() === 'true' || read('OTEL_TRACES_EXPORTER') === 'none'
  const own = read('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT')
  const isNamed = own !== undefined || read('OTEL_EXPORTER_OTLP_ENDPOINT') !== undefined
  if (!isNamed || isDisabled) return { problems }
  const name = own === undefined ? 'OTEL_EXPORTER_OTLP_ENDPOINT' : 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'
  const url = own ?? `${(read(name) ?? '').replace(/\/+$/, '')}/v1/traces`
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    return { problems: [`${name} is not an http:// or https:// URL: tracing is off`] }
  }
  const protocol = read('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL') ?? read('OTEL_EXPORTER_OTLP_PROTOCOL')
  if (protocol === 'grpc') problems.push('OTLP over gRPC is not supported: traces are sent as http/json')
  const number = (variable: string, fallback: number, max: number, min = 0): number => {
    const text = read(variable)
    if (text === undefined) return fallback
    const value = Number(text)
    if (value >= min && value <= max) return value
    problems.push(`${variable} must be a number from ${min} to ${max}: ${fallback} is used`)
    return fallback
  }
  const pairs = (variable: string): Record<string, string> => {
    const parsed = parsePairs(read(variable) ?? '')
    if (!parsed) problems.push(`${variable} must be a list such as name=value,other=value: it is ignored`)
    return parsed ?? {}
  }
  const sampler = samplerOf(read('OTEL_TRACES_SAMPLER'), problems)
  const attributes = pairs('OTEL_RESOURCE_ATTRIBUTES')
  return {
    options: {
      url,
      headers: { ...pairs('OTEL_EXPORTER_OTLP_HEADERS'), ...pairs('OTEL_EXPORTER_OTLP_TRACES_HEADERS') },
      resource: {
        'service.version': version,
        ...attributes,
        'service.name': read('OTEL_SERVICE_NAME') ?? attributes['service.name'] ?? 'gw',
      },
      sampler: sampler ?? 'traceidratio',
      ratio: number('OTEL_TRACES_SAMPLER_ARG', sampler ? 1 : DEFAULT_RATIO, 1),
      exportTimeoutMs: number('OTEL_EXPORTER_OTLP_TIMEOUT', EXPORT_TIMEOUT_MS, 600_000, 1),
      exportDelayMs: number('OTEL_BSP_SCHEDULE_DELAY', EXPORT_DELAY_MS, 600_000),
      maxWaitingSpans: MAX_WAITING_SPANS,
    },
    problems,
  }
}

function samplerOf(name: string | undefined, problems: string[]): SamplerName | undefined {
  const found = SAMPLERS.find(each => each === name)
  if (name !== undefined && !found) {
    problems.push(`OTEL_TRACES_SAMPLER must be one of ${SAMPLERS.join(', ')}: the default is used`)
  }
  return found
}

/** An empty value is as good as none, by the specification. */
function filled(value: string | undefined): string | undefined {
  const text = value?.trim()
  return text === '' ? undefined : text
}

/** Names and values in percent encoding, as in W3C Baggage: `name=value,other=value`. @returns undefined if it is malformed. */
function parsePairs(text: string): Record<string, string> | undefined {
  const pairs: Record<string, string> = {}
  for (const pair of text.split(',')) {
    if (pair.trim() === '') continue
    const at = pair.indexOf('=')
    if (at < 1) return undefined
    try {
      pairs[decodeURIComponent(pair.slice(0, at).trim())] = decodeURIComponent(pair.slice(at + 1).trim())
    } catch {
      return undefined
    }
  }
  return pairs
}
