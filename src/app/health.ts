import type { ReloadReport } from '../snapshot/holder.ts'
import type { Snapshot } from '../snapshot/types.ts'

/** What `/health` says, on both servers (DESIGN §10). Needs no key, and tells no secret. */
export interface HealthAnswer {
  readonly httpStatus: 200 | 503
  readonly json: string
}

/** What a process knows of itself beside what it serves. */
export interface ProcessHealth {
  readonly draining: boolean
  /** Absent where it bills nothing. */
  readonly ledgerHealthy?: boolean
}

/**
 * 503 only where a load balancer should send its requests elsewhere: while draining, before the first revision, and
 * while bills cannot be written, so that every inference answers 503.
 */
export function healthAnswer(
  snapshot: Snapshot | undefined,
  report: ReloadReport,
  { draining, ledgerHealthy }: ProcessHealth,
): HealthAnswer {
  const unbillable = ledgerHealthy === false
  const status = draining
    ? 'draining'
    : snapshot?.maintenance !== undefined
      ? 'maintenance'
      : report.ok && snapshot && !unbillable
        ? 'ok'
        : 'degraded'
  const body = {
    status,
    revision: report.revision,
    reload: {
      ok: report.ok,
      at: new Date(report.atMs).toISOString(),
      ...(report.refused && { refused_revision: report.refused.revision, problems: report.refused.problems }),
    },
    ...(ledgerHealthy !== undefined && { ledger: { ok: ledgerHealthy } }),
  }
  return { httpStatus: draining || unbillable || !snapshot ? 503 : 200, json: JSON.stringify(body) }
}
