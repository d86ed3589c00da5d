import type { EngineLoad } from '../tunnel/control.ts'

/** The names of three figures in the metrics of an engine; earlier names after later ones. */
interface Names {
  readonly running: readonly string[]
  readonly waiting: readonly string[]
  /** A share from 0 to 1. */
  readonly cache: readonly string[]
}

const ENGINES: readonly Names[] = [
  {
    running: ['vllm:num_requests_running'],
    waiting: ['vllm:num_requests_waiting'],
    cache: ['vllm:kv_cache_usage_perc', 'vllm:gpu_cache_usage_perc'],
  },
  {
    running: ['sglang:num_running_reqs'],
    waiting: ['sglang:num_queue_reqs'],
    cache: ['sglang:token_usage'],
  },
  {
    running: ['llamacpp:requests_processing'],
    waiting: ['llamacpp:requests_deferred'],
    cache: ['llamacpp:kv_cache_usage_ratio'],
  },
  { running: ['tgi_batch_current_size'], waiting: ['tgi_queue_size'], cache: [] },
]

const SAMPLE = /^([A-Za-z_:][\w:]*)(?:\{[^\n]*\})?[ \t]+(\S+)/
const MAX_REQUESTS = 1_000_000

/**
 * The load in a page of metrics in the text format of Prometheus. Samples of one name, of several models or ranks, are
 * added; of the cache the fullest counts.
 *
 * @returns undefined if the page has none of the known figures
 */
export function loadIn(text: string): EngineLoad | undefined {
  const sums = new Map<string, number>()
  const most = new Map<string, number>()
  for (const line of text.split('\n')) {
    const [, name, figure] = SAMPLE.exec(line) ?? []
    if (name === undefined || figure === undefined) continue
    const value = Number(figure)
    if (!Number.isFinite(value) || value < 0) continue
    sums.set(name, (sums.get(name) ?? 0) + value)
    most.set(name, Math.max(most.get(name) ?? 0, value))
  }
  const first = (names: readonly string[], figures: ReadonlyMap<string, number>) =>
    names.map(name => figures.get(name)).find(value => value !== undefined)
  for (const { running, waiting, cache } of ENGINES) {
    const [active, queued, used] = [first(running, sums), first(waiting, sums), first(cache, most)]
    if (active === undefined && queued === undefined) continue
    return {
      running: Math.min(active ?? 0, MAX_REQUESTS),
      waiting: Math.min(queued ?? 0, MAX_REQUESTS),
      ...(used !== undefined && { cache: Math.min(used, 1) }),
    }
  }
  return undefined
}
