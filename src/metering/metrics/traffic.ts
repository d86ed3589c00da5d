import type { RequestMeter, RequestRecord } from '../request-log.ts'
import { TRAFFIC_METRICS } from './catalogue.ts'
import type { TrafficCounters } from './counters.ts'
import { Buckets, familyHead, labelText, sample } from './exposition.ts'
import { EndpointSeries, type MeteredPath, ModelSeries } from './series.ts'

/** The names that may be labels, from the served configuration. */
export interface Named {
  readonly publications: ReadonlyMap<string, unknown>
  readonly endpoints: ReadonlyMap<string, unknown>
}

const NOTHING_NAMED: Named = { publications: new Map(), endpoints: new Map() }

interface PathSeries {
  readonly path: MeteredPath
  readonly models: Map<string, ModelSeries>
  readonly rejections: Map<string, number>
  readonly shadowRejections: Map<string, number>
  readonly overhead: Buckets
  isDispatched: boolean
}

/**
 * Counts requests in plain numbers, and writes them in parts at a scrape.
 *
 * prom-client would look up and check its labels for each of the ten numbers of a request, about 5 µs, and write 60,000
 * lines at once, which blocks the event loop for 100 ms. Here a request looks up path → model → endpoint once. A reload
 * drops the series of names that the configuration no longer has, so the number of series is bounded.
 */
export class Traffic implements RequestMeter {
  readonly #paths = new Map<string, PathSeries>()
  readonly #below: readonly MeteredPath[]
  readonly #other: PathSeries
  /** By endpoint, then by result. */
  readonly #attempts = new Map<string, Map<string, number>>()
  #named = NOTHING_NAMED
  #inFlight = 0

  /** @param paths A path that ends with `/{id}` stands for everything below it. */
  constructor(paths: readonly MeteredPath[]) {
    for (const path of paths) this.#paths.set(path.path, pathSeries(path))
    this.#below = paths.filter(({ path }) => path.endsWith(BELOW))
    this.#other = pathSeries({ path: 'other', protocol: '' })
  }

  get inFlight(): number {
    return this.#inFlight
  }

  began(): void {
    this.#inFlight++
  }

  ended(record: RequestRecord): void {
    this.#inFlight--
    const at = this.#paths.get(record.path) ?? this.#unlisted(record.path)
    const model = this.#model(at, record.model ?? '')
    model.add(record)
    this.#endpoint(at, model, record).add(record)
    if (record.errorCode !== undefined) increment(at.rejections, record.errorCode)
    if (record.shadowRejections)
      for (const limit of record.shadowRejections) increment(at.shadowRejections, limit)
    if (record.overheadMs === undefined) return
    at.isDispatched = true
    at.overhead.observe(record.overheadMs / 1000)
    if (record.attempts)
      for (const { endpoint, errorCode } of record.attempts)
        this.#attempt(endpoint, errorCode ?? resultOf(record))
    else if (record.endpoint !== undefined)
      this.#attempt(record.endpoint, record.errorCode ?? resultOf(record))
  }

  passed(): void {
    this.#inFlight--
  }

  /** Sets the names that may be labels, and drops the series of all others. */
  retain(named: Named): void {
    this.#named = named
    for (const { models } of this.#everyPath())
      for (const [model, { endpoints }] of models) {
        if (model !== '' && !named.publications.has(model)) models.delete(model)
        for (const endpoint of endpoints.keys())
          if (endpoint !== '' && !named.endpoints.has(endpoint)) endpoints.delete(endpoint)
      }
    for (const endpoint of this.#attempts.keys())
      if (!named.endpoints.has(endpoint)) this.#attempts.delete(endpoint)
  }

  /** The counters that live statistics show: for 1,000 models at three endpoints a few milliseconds of work. */
  counters(): TrafficCounters {
    const paths = [...this.#everyPath()]
    const rejections: Record<string, number> = {}
    for (const path of paths)
      for (const [reason, count] of path.rejections) rejections[reason] = (rejections[reason] ?? 0) + count
    return {
      series: paths.flatMap(({ models }) =>
        [...models.values()].flatMap(({ endpoints }) =>
          [...endpoints.values()].map(series => series.counters()),
        ),
      ),
      attempts: [...this.#attempts].map(([endpoint, results]) => ({
        endpoint,
        results: Object.fromEntries(results),
      })),
      rejections,
    }
  }

  /** All families, in parts of a few lines: the caller may yield between any two. */
  *text(): Generator<string> {
    yield* this.#ofEndpoints('gw_requests_total', series => series.requests('gw_requests_total'))
    yield* this.#ofPaths('gw_rejections_total', rejectionLines)
    yield* this.#ofPaths('gw_shadow_rejections_total', shadowRejectionLines)
    yield* this.#ofEndpoints('gen_ai_server_request_duration_seconds', series =>
      series.durations('gen_ai_server_request_duration_seconds'),
    )
    yield* this.#ofEndpoints('gw_time_to_first_byte_seconds', series =>
      series.firstBytes('gw_time_to_first_byte_seconds'),
    )
    yield* this.#ofPaths('gw_overhead_seconds', overheadLines)
    yield familyHead('gen_ai_client_token_usage', TRAFFIC_METRICS.gen_ai_client_token_usage)
    for (const { models } of this.#everyPath())
      for (const series of models.values()) yield series.tokenUsage('gen_ai_client_token_usage')
    yield* this.#ofEndpoints('gw_tokens_total', series => series.tokens('gw_tokens_total'))
    yield* this.#ofEndpoints('gw_cost_total', series => series.cost('gw_cost_total'))
    yield* this.#ofEndpoints('gw_unpriced_calls_total', series => series.unpriced('gw_unpriced_calls_total'))
    yield* this.#ofEndpoints('gw_estimated_calls_total', series =>
      series.estimated('gw_estimated_calls_total'),
    )
    yield familyHead('gw_upstream_attempts_total', TRAFFIC_METRICS.gw_upstream_attempts_total)
    for (const [endpoint, results] of this.#attempts)
      for (const [result, count] of results)
        yield sample('gw_upstream_attempts_total', labelText('endpoint', endpoint, 'result', result), count)
  }

  *#ofEndpoints(
    name: keyof typeof TRAFFIC_METRICS,
    lines: (series: EndpointSeries) => string,
  ): Generator<string> {
    yield familyHead(name, TRAFFIC_METRICS[name])
    for (const { models } of this.#everyPath())
      for (const { endpoints } of models.values())
        for (const series of endpoints.values()) yield lines(series)
  }

  *#ofPaths(
    name: keyof typeof TRAFFIC_METRICS,
    lines: (name: string, series: PathSeries) => string,
  ): Generator<string> {
    yield familyHead(name, TRAFFIC_METRICS[name])
    for (const series of this.#everyPath()) yield lines(name, series)
  }

  *#everyPath(): Generator<PathSeries> {
    yield* this.#paths.values()
    yield this.#other
  }

  #unlisted(path: string): PathSeries {
    const below = this.#below.find(known => path.startsWith(known.path.slice(0, 1 - BELOW.length)))
    return (below && this.#paths.get(below.path)) ?? this.#other
  }

  #model(at: PathSeries, model: string): ModelSeries {
    const known = at.models.get(model)
    if (known) return known
    // A request may outlive the configuration that it began with.
    if (model !== '' && !this.#named.publications.has(model)) return this.#model(at, '')
    const series = new ModelSeries(at.path, model)
    at.models.set(model, series)
    return series
  }

  #endpoint(at: PathSeries, model: ModelSeries, record: RequestRecord): EndpointSeries {
    const endpoint = record.endpoint ?? ''
    const known = model.endpoints.get(endpoint)
    if (known) return known
    const isNamed = endpoint === '' || this.#named.endpoints.has(endpoint)
    if (!isNamed) return this.#endpoint(at, model, { ...record, endpoint: '' })
    const series = new EndpointSeries(at.path.path, model, endpoint)
    model.endpoints.set(endpoint, series)
    return series
  }

  #attempt(endpoint: string, result: string): void {
    let results = this.#attempts.get(endpoint)
    if (!results) {
      if (!this.#named.endpoints.has(endpoint)) return
      this.#attempts.set(endpoint, (results = new Map()))
    }
    increment(results, result)
  }
}

const BELOW = '/{id}'

function pathSeries(path: MeteredPath): PathSeries {
  return {
    path,
    models: new Map(),
    rejections: new Map(),
    shadowRejections: new Map(),
    overhead: new Buckets(TRAFFIC_METRICS.gw_overhead_seconds.buckets),
    isDispatched: false,
  }
}

/** The result of an attempt that did not fail. */
function resultOf({ outcome }: RequestRecord): string {
  return outcome === 'client_gone' || outcome === 'broken' ? outcome : 'answered'
}

function increment(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}

function rejectionLines(name: string, { path, rejections }: PathSeries): string {
  let text = ''
  for (const [reason, count] of rejections)
    text += sample(name, labelText('path', path.path, 'reason', reason), count)
  return text
}

function shadowRejectionLines(name: string, { path, shadowRejections }: PathSeries): string {
  let text = ''
  for (const [limit, count] of shadowRejections)
    text += sample(name, labelText('path', path.path, 'limit', limit), count)
  return text
}

function overheadLines(name: string, { path, overhead, isDispatched }: PathSeries): string {
  return isDispatched ? overhead.lines(name, labelText('path', path.path)) : ''
}
