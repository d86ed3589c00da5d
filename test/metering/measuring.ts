import { systemClock } from '../../src/base/clock.ts'
import { Metrics } from '../../src/metering/metrics/metrics.ts'
import type { StateSources } from '../../src/metering/metrics/state.ts'
import { type Named, Traffic } from '../../src/metering/metrics/traffic.ts'
import type { RequestRecord } from '../../src/metering/request-log.ts'
import type { WhenOver } from '../support/when-over.ts'
import { readScrape, type Scraped } from './scraped.ts'

export const CHAT = '/v1/chat/completions'

const LOAD = { running: 5, waiting: 2, cache: 0.5 }

const IDLE: StateSources = {
  ledger: { healthy: true, queued: 3, droppedLogs: 2, flush: async () => undefined },
  holds: () => ({ count: 4, tokens: 5_000, amountNano: 1_500_000_000n }),
  reasons: () => ['drift'],
  config: () => ({ revision: 7, ok: true, atMs: 1_700_000_000_000 }),
  endpoints: () => [
    ['up', true],
    ['down', false],
  ],
  nodes: () => [
    { node: 'gpu-1', isAlive: true, engines: [{ engine: 'vllm', isUp: true, load: LOAD }] },
    { node: 'gpu-2', isAlive: false, engines: [] },
  ],
  nodeEndpoints: () => [{ endpoint: 'up', node: 'gpu-1', healthy: true, inFlight: 3 }],
  connections: () => 9,
  version: '1.2.3',
}

export const named = (publications: readonly string[], endpoints: readonly string[]) => ({
  publications: new Map(publications.map(name => [name, name])),
  endpoints: new Map(endpoints.map(name => [name, name])),
})

/** Metrics of a gateway that is not there: the model `m` and the endpoints `up` and `down`. */
export function measuring(whenOver: WhenOver, sources: Partial<StateSources> = {}, clock = systemClock) {
  const traffic = new Traffic([
    { path: CHAT, protocol: 'openai', operation: 'chat' },
    { path: '/v1/messages', protocol: 'anthropic', operation: 'chat' },
    { path: '/v1/models', protocol: '' },
    { path: '/v1/models/{id}', protocol: '' },
  ])
  const metrics = new Metrics({ traffic, sources: { ...IDLE, ...sources }, host: process, clock })
  whenOver(() => metrics.close())
  traffic.retain(named(['m'], ['up', 'down']))
  return {
    requests: traffic,
    retain: (names: Named) => traffic.retain(names),
    scrape: () => metrics.scrape(),
    counters: () => traffic.counters(),
    close: () => metrics.close(),
  }
}

export type Measuring = ReturnType<typeof measuring>

export function count(metrics: Measuring, record: Partial<RequestRecord>): void {
  metrics.requests.began()
  metrics.requests.ended({ ...ANSWERED, ...record })
}

export async function scraped(metrics: Measuring): Promise<Scraped & { readonly text: string }> {
  const { pieces } = await metrics.scrape()
  const text = Buffer.concat(pieces).toString()
  return { ...readScrape(text), text }
}

export const ANSWERED: RequestRecord = {
  requestId: 'req_1',
  method: 'POST',
  path: CHAT,
  protocol: 'openai',
  outcome: 'answered',
  status: 200,
  key: 'app',
  model: 'm',
  endpoint: 'up',
  stream: false,
  charge: {
    usage: {
      inputTokens: 100,
      cachedInputTokens: 60,
      cacheWriteTokens: 10,
      outputTokens: 20,
      searchUnits: 0,
      durationMs: 0,
      characters: 0,
      images: 0,
    },
    amountNano: 1_250_000_001n,
    flags: [],
  },
  latencyMs: 1_500,
  firstByteMs: 300,
  overheadMs: 0.7,
}

/** What was rejected before any endpoint was asked. */
export const REJECTED = {
  outcome: 'rejected',
  status: 404,
  errorCode: 'model_not_found',
  model: undefined,
  endpoint: undefined,
  charge: undefined,
  firstByteMs: undefined,
  overheadMs: undefined,
} as unknown as Partial<RequestRecord>
