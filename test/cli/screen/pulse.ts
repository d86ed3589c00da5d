import type { LiveStats } from '../../../src/services/live-stats/types.ts'

/** A look at a busy gateway, with something odd in each pane. */
export function busyLiveStats(more: Partial<LiveStats> = {}): LiveStats {
  const flow = (name: string, requestsPerSecond: number, tokensPerSecond: number) => {
    return { name, requestsPerSecond, tokensPerSecond, p50Ms: 120, p95Ms: 2_340, failed: 0, results: [] }
  }
  return {
    atMs: Date.UTC(2026, 10, 21, 12, 0, 0),
    seconds: 2,
    storeRevision: 12,
    gateways: [
      {
        name: 'host-a:101',
        url: 'http://127.0.0.1:8090',
        revision: 11,
        isBehind: true,
        state: 'degraded',
        reasons: ['reload_rejected: revision 12: it is odd'],
        inFlight: 17,
        version: '0.1.0',
        startedAtMs: Date.UTC(2026, 10, 21, 10, 0, 0),
      },
    ],
    endpoints: [
      { ...flow('azure-europe', 40.2, 5_400), state: 'healthy' },
      {
        ...flow('openai', 81.6, 12_300),
        state: 'unhealthy',
        failed: 0.4,
        results: [
          ['answered', 98],
          ['upstream_timeout', 65],
        ],
      },
      { name: 'spare', requestsPerSecond: 0, tokensPerSecond: 0, failed: 0, results: [], state: 'disabled' },
    ],
    unanswered: 0,
    models: [flow('chat', 100, 17_000), flow('openai/gpt-4o:latest', 21.8, 700)],
    rejections: [
      { reason: 'rate_limit_requests', perSecond: 3.5, total: 1_204 },
      { reason: 'model_not_found', perSecond: 0, total: 3 },
    ],
    keys: [
      {
        name: 'team-blue',
        tenant: 'blue',
        requestsPerSecond: 3,
        tokensPerSecond: 40,
        limits: [
          { limit: 'budget/month', used: '47.5', of: '50', share: 0.95 },
          { limit: 'rpm', used: '180', of: '600', share: 0.3 },
        ],
      },
      { name: 'free', requestsPerSecond: 0, tokensPerSecond: 0, limits: [] },
    ],
    total: { requestsPerSecond: 121.8, tokensPerSecond: 17_700, inFlight: 17, rejectedPerSecond: 3.5 },
    notes: [],
    ...more,
  }
}
