import { healthReason } from '../base/catalogue/health.ts'
import { iso } from '../base/iso.ts'
import type { ReloadReport } from '../snapshot/holder.ts'
import type { Snapshot } from '../snapshot/types.ts'
import type { EndpointCounts } from '../upstream/routing/health-registry.ts'

/** The answer of `/health`, on both servers (spec/requests.md §8). Needs no key, and contains no secret. */
export interface HealthAnswer {
  readonly httpStatus: 200 | 503
  /** Each as `code: sentence`. */
  readonly reasons: readonly string[]
  readonly json: string
}

export interface HealthBody {
  readonly status: 'ok' | 'degraded' | 'draining' | 'maintenance'
  readonly revision: number
  readonly reasons: string[]
  readonly in_flight: number
  readonly reload: {
    readonly ok: boolean
    readonly at: string
    readonly rejected_revision?: number
    readonly problems?: string[]
  }
  readonly ledger?: { readonly ok: boolean }
  /** Absent if this process has no gateway. */
  readonly endpoints?: EndpointCounts
}

/** The state of the process, beside the served snapshot. */
export interface ProcessHealth {
  readonly draining: boolean
  /** Requests in flight. */
  readonly inFlight: number
  /** Absent if this process has no ledger. */
  readonly ledgerHealthy?: boolean
  /** Absent if this process has no gateway. */
  readonly endpoints?: EndpointCounts
  /** Further reasons, each as `code: sentence`. */
  readonly reasons: readonly string[]
}

/**
 * 503 only if a load balancer should send requests elsewhere: while draining, before the first revision, and while the
 * ledger is unwritable, so that every inference answers 503. In maintenance the gateway itself has the better answer.
 */
export function healthAnswer(
  snapshot: Snapshot | undefined,
  report: ReloadReport,
  { draining, inFlight, ledgerHealthy, endpoints, reasons }: ProcessHealth,
): HealthAnswer {
  const unbillable = ledgerHealthy === false
  const degraded = [...ownReasons(snapshot, report, unbillable), ...reasons]
  const maintenance = snapshot?.maintenance
  const body: HealthBody = {
    status: draining
      ? 'draining'
      : maintenance !== undefined
        ? 'maintenance'
        : degraded.length > 0
          ? 'degraded'
          : 'ok',
    revision: report.revision,
    reasons: [...(maintenance === undefined ? [] : [healthReason('maintenance', maintenance)]), ...degraded],
    in_flight: inFlight,
    reload: {
      ok: report.ok,
      at: iso(report.atMs),
      ...(report.rejected && {
        rejected_revision: report.rejected.revision,
        problems: [...report.rejected.problems],
      }),
    },
    ...(ledgerHealthy !== undefined && { ledger: { ok: ledgerHealthy } }),
    ...(endpoints && { endpoints }),
  }
  const httpStatus = draining || unbillable || !snapshot ? 503 : 200
  return { httpStatus, reasons: body.reasons, json: JSON.stringify(body) }
}

function ownReasons(
  snapshot: Snapshot | undefined,
  { rejected }: ReloadReport,
  unbillable: boolean,
): string[] {
  return [
    ...(snapshot ? [] : [healthReason('starting', 'no revision is served yet')]),
    ...(rejected
      ? [healthReason('reload_rejected', `revision ${rejected.revision}: ${rejected.problems.join('; ')}`)]
      : []),
    ...(unbillable
      ? [healthReason('ledger_unwritable', 'charges cannot be written, so inference answers 503')]
      : []),
  ]
}
