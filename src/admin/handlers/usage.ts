import { iso } from '../../base/iso.ts'
import { callToJson, sumsToJson } from '../../store/ledger/to-json.ts'
import type { StoredCall } from '../../store/ledger/types.ts'
import type { Caller, HandlersOf } from '../call.ts'
import { idBefore, pageOf } from '../paging.ts'
import type { UseCasePorts } from '../ports.ts'

type Ids = 'get_usage' | 'list_calls'

const DEFAULT_SPAN_MS = 30 * 86_400_000

/** The filters of both lists. */
interface Filters {
  readonly key?: string | undefined
  readonly tenant?: string | undefined
  readonly model?: string | undefined
  readonly endpoint?: string | undefined
}

export function usageHandlers(ports: UseCasePorts): HandlersOf<Ids> {
  const { accounting } = ports.store
  return {
    async get_usage({ query: { by, timezone, since, until, ...filters }, caller }) {
      const untilMs = until ?? ports.clock.nowMs()
      const sinceMs = since ?? untilMs - DEFAULT_SPAN_MS
      const own = ownFilters(filters, caller)
      const rows = own ? await accounting.usage({ by, timezone, sinceMs, untilMs, ...own }) : []
      return {
        body: {
          by,
          currency: await ports.currency(),
          since: iso(sinceMs),
          until: iso(untilMs),
          data: rows.map(row => ({ label: row.label === '' ? null : row.label, ...sumsToJson(row) })),
        },
      }
    },
    async list_calls({
      query: { limit, cursor, request_id, min_status, since, until, outcome, ...filters },
      caller,
    }) {
      const own = ownFilters(filters, caller)
      const callQuery = {
        ...own,
        ...(request_id !== undefined && { requestId: request_id }),
        ...(min_status !== undefined && { minStatus: min_status }),
        ...(outcome !== undefined && { outcome }),
        ...(since !== undefined && { sinceMs: since }),
        ...(until !== undefined && { untilMs: until }),
      }
      const currency = await ports.currency()
      return {
        body: await pageOf(
          { limit, cursor },
          async (limit, mark) => (own ? accounting.callLogs({ ...callQuery, limit, ...idBefore(mark) }) : []),
          call => call.id,
          call => callToJson(caller.tenant === undefined ? call : withoutCauses(call), currency),
        ),
      }
    },
  }
}

/** Failure reasons reveal endpoints and upstream errors, which are for operators only. */
function withoutCauses({ reason: _reason, failedAttempts: _failed, ...call }: StoredCall): StoredCall {
  return call
}

/** The filters within the caller's tenant; undefined if nothing can match. */
function ownFilters({ key, tenant: wanted, model, endpoint }: Filters, caller: Caller) {
  const tenant = caller.tenant ?? wanted
  if (wanted !== undefined && wanted !== tenant) return undefined
  return {
    ...(key !== undefined && { key }),
    ...(tenant !== undefined && { tenant }),
    ...(model !== undefined && { publication: model }),
    ...(endpoint !== undefined && { endpoint }),
  }
}
