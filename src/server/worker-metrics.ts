import { withTimeout } from '../base/with-timeout.ts'
import type { MetricsPort } from '../gateway/metrics.ts'
import { mergeMetrics } from '../metering/metrics/merge.ts'
import type { Peer } from './supervisor/messages.ts'

const TIMEOUT_MS = 2_000

/**
 * The metrics of all workers: a scrape of the address that they share reaches any of them, which asks all. One that
 * does not answer is missing.
 */
export function metricsOfAll(own: MetricsPort, token: string, peers: () => readonly Peer[]): MetricsPort {
  return {
    tokenDigest: own.tokenDigest,
    scrape: async () => {
      const known = peers()
      const { contentType, pieces } = await own.scrape()
      if (known.length === 0) return { contentType, pieces }
      const all = await Promise.all(
        known.map(async ({ name: worker, url }) => ({ worker, text: await metricsOf(url, token) })),
      )
      return { contentType, pieces: [Buffer.from(mergeMetrics(all))] }
    },
  }
}

async function metricsOf(url: string, token: string): Promise<string> {
  try {
    const answer = await fetch(new URL('/metrics', url), {
      headers: { authorization: `Bearer ${token}` },
      redirect: 'error',
      signal: withTimeout(TIMEOUT_MS, new AbortController().signal),
    })
    return answer.ok ? await answer.text() : ''
  } catch {
    return ''
  }
}
