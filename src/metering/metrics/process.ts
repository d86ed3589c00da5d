import { readdir, readFile } from 'node:fs/promises'
import { constants, monitorEventLoopDelay, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks'
import type { Instruments } from './instruments.ts'

/** The observed parts of a process. */
export type Host = Pick<NodeJS.Process, 'cpuUsage' | 'memoryUsage' | 'uptime'>

/** Sampling interval of the event-loop delay: fifty short wake-ups a second. */
const SAMPLE_EVERY_MS = 20
const NANO = 1e9
const MICRO = 1e6

const GC_KINDS: Readonly<Record<number, string>> = {
  [constants.NODE_PERFORMANCE_GC_MAJOR]: 'major',
  [constants.NODE_PERFORMANCE_GC_MINOR]: 'minor',
  [constants.NODE_PERFORMANCE_GC_INCREMENTAL]: 'incremental',
  [constants.NODE_PERFORMANCE_GC_WEAKCB]: 'weakcb',
}

/** `detail` is missing in Node's types. */
type GcEntry = PerformanceEntry & { readonly detail: { readonly kind: number } }

/**
 * Observes the process. prom-client's `collectDefaultMetrics` has the same metrics, but its observers cannot be stopped.
 *
 * @returns a function that stops it.
 */
export function watchProcess(instruments: Instruments, host: Host, nowMs: number): () => void {
  const cpuSeconds = (part: (usage: NodeJS.CpuUsage) => number) => () => part(host.cpuUsage()) / MICRO
  instruments.counter(
    'process_cpu_user_seconds_total',
    cpuSeconds(({ user }) => user),
  )
  instruments.counter(
    'process_cpu_system_seconds_total',
    cpuSeconds(({ system }) => system),
  )
  instruments.counter(
    'process_cpu_seconds_total',
    cpuSeconds(({ user, system }) => user + system),
  )
  const startedS = nowMs / 1000 - host.uptime()
  instruments.gauge('process_start_time_seconds', () => startedS)
  instruments.gauge('process_resident_memory_bytes', () => host.memoryUsage.rss())
  instruments.gauge('nodejs_heap_size_total_bytes', () => host.memoryUsage().heapTotal)
  instruments.gauge('nodejs_heap_size_used_bytes', () => host.memoryUsage().heapUsed)
  instruments.gauge('nodejs_external_memory_bytes', () => host.memoryUsage().external)
  instruments.gauge('process_open_fds', openFiles)
  instruments.gauge('process_max_fds', maxFiles)

  const gc = instruments.histogram('nodejs_gc_duration_seconds')
  for (const kind of Object.values(GC_KINDS)) gc.zero({ kind })
  const collections = new PerformanceObserver(list => {
    for (const entry of list.getEntries() as GcEntry[]) {
      const kind = GC_KINDS[entry.detail.kind]
      if (kind) gc.observe({ kind }, entry.duration / 1000)
    }
  })
  collections.observe({ entryTypes: ['gc'] })

  const delay = monitorEventLoopDelay({ resolution: SAMPLE_EVERY_MS })
  delay.enable()
  // Node reports the time between two samples; only the part beyond the interval is delay.
  const lagS = (betweenNs: number) => Math.max(betweenNs / NANO - SAMPLE_EVERY_MS / 1000, 0)
  instruments.gauge('nodejs_eventloop_lag_p50_seconds', () => lagS(delay.percentile(50)))
  instruments.gauge('nodejs_eventloop_lag_p99_seconds', () => lagS(delay.percentile(99)))
  instruments.gauge('nodejs_eventloop_lag_max_seconds', () => {
    const longestS = lagS(delay.max)
    // The last of the three gauges to be read.
    delay.reset()
    return longestS
  })

  return () => {
    collections.disconnect()
    delay.disable()
  }
}

async function openFiles(): Promise<number | undefined> {
  try {
    // Without the descriptor of this read.
    return (await readdir('/proc/self/fd')).length - 1
  } catch {
    // Not Linux: the metric is omitted.
    return undefined
  }
}

async function maxFiles(): Promise<number | undefined> {
  try {
    const [, soft] = /^Max open files +(\d+)/m.exec(await readFile('/proc/self/limits', 'utf8')) ?? []
    return soft === undefined ? undefined : Number(soft)
  } catch {
    // Not Linux: the metric is omitted.
    return undefined
  }
}
