import type { ReloadReport } from '../snapshot/holder.ts'
import type { Snapshot } from '../snapshot/types.ts'

/** What `/health` says, on both servers (DESIGN §10). Needs no key, and tells no secret. */
export interface HealthAnswer {
  readonly httpStatus: 200 | 503
  readonly json: string
}

/**
 * 503 only where a load balancer should send its requests elsewhere: while draining, and before the first revision.
 */
export function healthAnswer(
  snapshot: Snapshot | undefined,
  report: ReloadReport,
  draining: boolean,
): HealthAnswer {
  const status = draining
    ? 'draining'
    : snapshot?.maintenance !== undefined
      ? 'maintenance'
      : report.ok && snapshot
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
  }
  return { httpStatus: draining || !snapshot ? 503 : 200, json: JSON.stringify(body) }
}
