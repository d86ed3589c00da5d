import { formatNano } from '../../base/decimal.ts'
import type { StoredCall, UsageRow } from '../../store/ledger/types.ts'
import type { Caller, HandlersOf } from '../call.ts'
import { idBefore, pageOf } from '../paging.ts'
import type { UseCasePorts } from '../ports.ts'
import { iso } from '../resources.ts'

type Ids = 'get_usage' | 'list_calls'

const DEFAULT_SPAN_MS = 30 * 86_400_000

/** What both lists can be narrowed to. */
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
          currency: ports.currency(),
          since: iso(sinceMs),
          until: iso(untilMs),
          data: rows.map(usageRow),
        },
      }
    },
    async list_calls({
      query: { limit, cursor, request_id, min_status, since, until, outcome, ...filters },
      caller,
    }) {
      const own = ownFilters(filters, caller)
      const asked = {
        ...own,
        ...(request_id !== undefined && { requestId: request_id }),
        ...(min_status !== undefined && { minStatus: min_status }),
        ...(outcome !== undefined && { outcome }),
        ...(since !== undefined && { sinceMs: since }),
        ...(until !== undefined && { untilMs: until }),
      }
      const currency = ports.currency()
      return {
        body: await pageOf(
          { limit, cursor },
          async (limit, mark) => (own ? accounting.callLogs({ ...asked, limit, ...idBefore(mark) }) : []),
          call => call.id,
          call => callBody(call, currency),
        ),
      }
    },
  }
}

/** The filters within what is the caller's; undefined where nothing is. */
function ownFilters({ key, tenant: asked, model, endpoint }: Filters, caller: Caller) {
  const tenant = caller.tenant ?? asked
  if (asked !== undefined && asked !== tenant) return undefined
  return {
    ...(key !== undefined && { key }),
    ...(tenant !== undefined && { tenant }),
    ...(model !== undefined && { publication: model }),
    ...(endpoint !== undefined && { endpoint }),
  }
}

function usageRow(row: UsageRow) {
  return {
    label: row.label === '' ? null : row.label,
    requests: row.requests,
    input_tokens: row.inputTokens,
    cached_input_tokens: row.cachedInputTokens,
    cache_write_tokens: row.cacheWriteTokens,
    output_tokens: row.outputTokens,
    search_units: row.searchUnits,
    cost: formatNano(row.amountNano),
    estimated: row.estimated,
    unpriced: row.unpriced,
  }
}

function callBody(call: StoredCall, currency: string) {
  const { usage } = call
  return {
    id: call.id,
    at: iso(call.atMs),
    request_id: call.requestId,
    key: call.key,
    ...(call.tenant !== undefined && { tenant: call.tenant }),
    model: call.publication,
    ...(call.endpoint !== undefined && { endpoint: call.endpoint }),
    protocol: call.protocol,
    path: call.path,
    status: call.status,
    stream: call.stream,
    outcome: call.outcome,
    ...(call.errorCode !== undefined && { error_code: call.errorCode }),
    ...(usage && {
      input_tokens: usage.inputTokens,
      cached_input_tokens: usage.cachedInputTokens,
      cache_write_tokens: usage.cacheWriteTokens,
      output_tokens: usage.outputTokens,
      search_units: usage.searchUnits,
    }),
    cost: formatNano(call.amountNano),
    currency,
    marks: [...call.marks],
    latency_ms: call.latencyMs,
    ...(call.firstByteMs !== undefined && { first_byte_ms: call.firstByteMs }),
    attempts: call.attempts,
  }
}
