import {
  type Attributes,
  type Context,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { ExportResultCode, parseTraceParent, W3CTraceContextPropagator } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  type IdGenerator,
  type SpanExporter,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { Clock } from '../../base/clock.ts'
import { formatNano } from '../../base/decimal.ts'
import type { Log } from '../../base/log.ts'
import type { Random } from '../../base/random.ts'
import { OPERATIONS } from '../metrics/series.ts'
import type { RequestRecord, TraceIds } from '../request-log.ts'
import type {
  CallTrace,
  CallTracer,
  TracedAttempt,
  TracedEndpoint,
  TracedOperation,
  TracedStep,
} from '../trace.ts'
import type { TracingOptions } from './environment.ts'

export interface OpenTelemetryPorts {
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
}

type Headers = Parameters<CallTracer['begin']>[0]

/**
 * Traces calls with the SDK of OpenTelemetry, and sends them to a collector as OTLP over HTTP, in JSON. Nothing is
 * registered globally.
 *
 *     span of the call (SERVER), a child of the client's
 *      ├─ hold
 *      ├─ attempt ENDPOINT (CLIENT), whose context the upstream gets; one for each endpoint that was tried
 *      └─ settle
 *
 * A collector that does not answer never delays a call: spans wait in a bounded queue, and are dropped if it is full.
 */
export class OpenTelemetryTracer implements CallTracer {
  readonly #clock: Clock
  readonly #provider: TracerProvider
  readonly #tracer: Tracer
  readonly #propagator = new W3CTraceContextPropagator()
  readonly #sampling: Sampling
  #isExporting = false

  constructor(options: TracingOptions, { clock, random, log }: OpenTelemetryPorts) {
    this.#clock = clock
    this.#sampling = new Sampling(options, random)
    const exporter = reportingOutages(
      new OTLPTraceExporter({
        url: options.url,
        headers: { ...options.headers },
        timeoutMillis: options.exportTimeoutMs,
      }),
      log,
    )
    const processor = new BatchSpanProcessor({
      exporter,
      maxQueueSize: options.maxWaitingSpans,
      scheduledDelayMillis: options.exportDelayMs,
      // The exporter has its own limit, which ends its requests as well.
      exportTimeoutMillis: options.exportTimeoutMs * 2,
    })
    this.#provider = new TracerProvider({
      resource: resourceFromAttributes(options.resource),
      // `begin` has asked the sampler before there is a span.
      sampler: new AlwaysOnSampler(),
      idGenerator: idsFrom(random, this.#sampling),
      spanProcessors: [processor],
    })
    this.#tracer = this.#provider.getTracer('gw', options.resource['service.version'])
  }

  begin(headers: Headers, operation: TracedOperation): CallTrace | undefined {
    const { traceparent } = headers
    if (!this.#sampling.decide(traceparent)) return undefined
    const parent =
      traceparent === undefined ? ROOT_CONTEXT : this.#propagator.extract(ROOT_CONTEXT, headers, HEADERS)
    const name = operationName(operation)
    const timeline = new Timeline(this.#clock)
    const span = this.#tracer.startSpan(name, { kind: SpanKind.SERVER, startTime: timeline.nowMs() }, parent)
    return new OpenTelemetryCall(span, name, timeline, this.#tracer, this.#propagator)
  }

  /** Whether an export still runs after {@link close}. Nothing can cancel it, and it keeps the process alive. */
  get isExporting(): boolean {
    return this.#isExporting
  }

  /** Sends the waiting spans. Resolves when they are sent or lost, at the latest after `limitMs`. */
  async close(limitMs: number): Promise<void> {
    this.#isExporting = true
    await new Promise<void>(resolve => {
      const timer = this.#clock.after(limitMs, resolve)
      const closed = () => {
        timer.cancel()
        this.#isExporting = false
        resolve()
      }
      // An export that fails has been reported.
      this.#provider.shutdown().then(closed, closed)
    })
  }
}

/** Times of the spans of one call, which a change of the wall clock does not affect. */
class Timeline {
  readonly #clock: Clock
  readonly #originMs: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#originMs = clock.nowMs() - clock.monotonicMs()
  }

  /** Milliseconds since the Unix epoch, with fractions. */
  nowMs(): number {
    return this.#originMs + this.#clock.monotonicMs()
  }
}

class OpenTelemetryCall implements CallTrace {
  readonly ids: TraceIds
  readonly #span: Span
  readonly #operation: string
  readonly #timeline: Timeline
  readonly #tracer: Tracer
  readonly #propagator: W3CTraceContextPropagator
  readonly #context: Context
  #attempts = 0

  constructor(
    span: Span,
    operation: string,
    timeline: Timeline,
    tracer: Tracer,
    propagator: W3CTraceContextPropagator,
  ) {
    const { traceId, spanId } = span.spanContext()
    this.ids = { traceId, spanId }
    this.#span = span
    this.#operation = operation
    this.#timeline = timeline
    this.#tracer = tracer
    this.#propagator = propagator
    this.#context = trace.setSpan(ROOT_CONTEXT, span)
  }

  step(name: 'hold' | 'settle'): TracedStep {
    const span = this.#child(name, SpanKind.INTERNAL)
    return { end: errorCode => this.#end(span, errorCode) }
  }

  attempt({ name, origin, node }: TracedEndpoint): TracedAttempt {
    const span = this.#child(`attempt ${name}`, SpanKind.CLIENT)
    span.setAttributes({
      'gw.endpoint': name,
      'gw.attempt': ++this.#attempts,
      ...(node === undefined ? serverOf(origin) : { 'gw.node': node }),
    })
    return {
      headers: lines => this.#withContext(lines, span),
      end: (status, errorCode) => {
        if (status) span.setAttribute('http.response.status_code', status)
        this.#end(span, errorCode ?? (status && status >= 400 ? String(status) : undefined))
      },
    }
  }

  end(record: RequestRecord): void {
    const { model, status, outcome, charge } = record
    const span = this.#span
    if (model !== undefined) span.updateName(`${this.#operation} ${model}`)
    span.setAttributes({
      'gen_ai.operation.name': this.#operation,
      'gen_ai.provider.name': record.protocol,
      'gen_ai.request.model': model,
      'gen_ai.usage.input_tokens': charge?.usage.inputTokens,
      'gen_ai.usage.output_tokens': charge?.usage.outputTokens,
      'http.request.method': record.method,
      'http.response.status_code': status === 0 ? undefined : status,
      'url.path': record.path,
      'error.type': record.errorCode,
      'gw.request_id': record.requestId,
      'gw.outcome': outcome,
      'gw.key': record.key,
      'gw.tenant': record.tenant,
      'gw.endpoint': record.endpoint,
      'gw.node': record.node,
      'gw.revision': record.revision,
      'gw.stream': record.stream,
      'gw.cost': charge && formatNano(charge.amountNano),
      'gw.first_byte_ms': record.firstByteMs,
    })
    // Errors of the client are none of the server, by the conventions for HTTP.
    if (outcome === 'failed' || outcome === 'broken') span.setStatus({ code: SpanStatusCode.ERROR })
    span.end(this.#timeline.nowMs())
  }

  #child(name: string, kind: SpanKind): Span {
    return this.#tracer.startSpan(name, { kind, startTime: this.#timeline.nowMs() }, this.#context)
  }

  #end(span: Span, errorCode: string | undefined): void {
    if (!span.isRecording()) return
    if (errorCode !== undefined) {
      span.setAttribute('error.type', errorCode)
      span.setStatus({ code: SpanStatusCode.ERROR })
    }
    span.end(this.#timeline.nowMs())
  }

  #withContext(lines: readonly string[], span: Span): readonly string[] {
    const kept: string[] = []
    for (let index = 0; index < lines.length; index += 2) {
      const name = lines[index] as string
      if (!CONTEXT_HEADERS.has(name.toLowerCase())) kept.push(name, lines[index + 1] as string)
    }
    this.#propagator.inject(trace.setSpan(ROOT_CONTEXT, span), kept, {
      set: (carrier: string[], name, value) => void carrier.push(name, value),
    })
    return kept
  }
}

const CONTEXT_HEADERS = new Set(['traceparent', 'tracestate'])

const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 }

function serverOf(origin: string): Attributes {
  const { hostname, port, protocol } = new URL(origin)
  return {
    // An address of IPv6 is without its brackets there.
    'server.address': hostname.replace(/^\[|\]$/g, ''),
    'server.port': port === '' ? DEFAULT_PORTS[protocol] : Number(port),
  }
}

const HEADERS = {
  get: (headers: Headers, name: string) => headers[name],
  keys: (headers: Headers) => Object.keys(headers),
}

function operationName(operation: TracedOperation): string {
  return operation === 'count_tokens' || operation === 'stored_response' ? operation : OPERATIONS[operation]
}

const DRAWS = 2 ** 32

/**
 * Decides whether a call is traced, before anything is made for it. A ratio is drawn here also for a call that has a trace
 * already: a client chooses the id of its trace, and would choose to be traced.
 */
class Sampling {
  readonly #followsParent: boolean
  /** Draws below it are traced. */
  readonly #bound: number
  readonly #random: Random
  #drawn = 0

  constructor({ sampler, ratio }: TracingOptions, random: Random) {
    const own = sampler.replace(/^parentbased_/, '')
    this.#followsParent = own !== sampler
    const share = own === 'always_on' ? 1 : own === 'always_off' ? 0 : ratio
    this.#bound = share === 1 ? DRAWS : Math.floor(share * (DRAWS - 1))
    this.#random = random
  }

  decide(traceparent: string | string[] | undefined): boolean {
    if (this.#followsParent && typeof traceparent === 'string') {
      const parent = parseTraceParent(traceparent)
      if (parent) return (parent.traceFlags & TraceFlags.SAMPLED) !== 0
    }
    this.#drawn = Math.floor(this.#random.fraction() * DRAWS)
    return this.#drawn < this.#bound
  }

  /** An id for the trace that was decided last: a service behind this one that samples ids by the same ratio decides alike. */
  newTraceId(): string {
    const id = Buffer.from(this.#random.bytes(TRACE_ID_BYTES))
    // The SDK's sampler compares the exclusive or of the four parts.
    const others = id.readInt32BE(0) ^ id.readInt32BE(4) ^ id.readInt32BE(8)
    id.writeInt32BE(this.#drawn ^ others, 12)
    return id.toString('hex')
  }
}

const TRACE_ID_BYTES = 16
const SPAN_ID_BYTES = 8

function idsFrom(random: Random, sampling: Sampling): IdGenerator {
  return {
    generateTraceId: () => sampling.newTraceId(),
    generateSpanId: () => Buffer.from(random.bytes(SPAN_ID_BYTES)).toString('hex'),
  }
}

/** Logs when the collector stops answering, and when it answers again: not each lost export. */
function reportingOutages(exporter: SpanExporter, log: Log): SpanExporter {
  let isDown = false
  return {
    export(spans, done) {
      exporter.export(spans, result => {
        const failed = result.code !== ExportResultCode.SUCCESS
        if (failed && !isDown)
          log.warn({ err: result.error, spans: spans.length }, 'traces were not exported')
        if (!failed && isDown) log.info('traces are exported again')
        isDown = failed
        done(result)
      })
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
  }
}
