/**
 * What a gateway has counted since its start, as far as live statistics show it. Plain data: it crosses threads as JSON,
 * and the text of `/metrics` of another gateway is read into the same form.
 */
export interface TrafficCounters {
  readonly series: readonly CounterSeries[]
  readonly attempts: readonly AttemptCounters[]
  /** Requests that were rejected, failed or broke off, by error code. */
  readonly rejections: Counts
}

/** Counters by name. */
export type Counts = Readonly<Record<string, number>>

/** Requests of one model at one endpoint; either is empty if a request was rejected before it was known. */
export interface CounterSeries {
  /** Identifies the series among those of its gateway. */
  readonly id: string
  readonly model: string
  readonly endpoint: string
  /** Ended requests, by outcome. */
  readonly outcomes: Counts
  readonly tokens: number
  /** Answers that took at most so many seconds, by the text of the bound; `+Inf` is all of them. */
  readonly durations: Counts
}

export interface AttemptCounters {
  readonly endpoint: string
  readonly results: Counts
}
