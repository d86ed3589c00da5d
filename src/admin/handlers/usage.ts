import { listCalls, listRejections } from '../../services/calls.ts'
import { reportUsage } from '../../services/usage.ts'
import type { HandlersOf } from '../call.ts'

type Ids = 'get_usage' | 'list_calls' | 'list_rejections'

const DEFAULT_SPAN_MS = 30 * 86_400_000

/** The filters of both lists. */
interface Filters {
  readonly key?: string | undefined
  readonly tenant?: string | undefined
  readonly model?: string | undefined
  readonly endpoint?: string | undefined
}

export const usageHandlers: HandlersOf<Ids> = {
  async get_usage({ query: { by, split, timezone, since, until, ...filters }, context }) {
    const untilMs = until ?? context.clock.nowMs()
    const sinceMs = since ?? untilMs - DEFAULT_SPAN_MS
    const query = { by, ...(split !== undefined && { split }), timezone, sinceMs, untilMs }
    return { body: await reportUsage(context, { ...filtersOf(filters), ...query }) }
  },
  async list_calls({
    query: { limit, cursor, node, request_id, min_status, since, until, outcome, ...filters },
    context,
  }) {
    const query = {
      ...filtersOf(filters),
      ...(node !== undefined && { node }),
      ...(request_id !== undefined && { requestId: request_id }),
      ...(min_status !== undefined && { minStatus: min_status }),
      ...(outcome !== undefined && { outcome }),
      ...(since !== undefined && { sinceMs: since }),
      ...(until !== undefined && { untilMs: until }),
    }
    return { body: await listCalls(context, query, { limit, cursor }) }
  },
  async list_rejections({
    query: { limit, cursor, request_id, min_status, since, until, ...filters },
    context,
  }) {
    const query = {
      ...filtersOf(filters),
      ...(request_id !== undefined && { requestId: request_id }),
      ...(min_status !== undefined && { minStatus: min_status }),
      ...(since !== undefined && { sinceMs: since }),
      ...(until !== undefined && { untilMs: until }),
    }
    return { body: await listRejections(context, query, { limit, cursor }) }
  },
}

function filtersOf({ key, tenant, model, endpoint }: Filters) {
  return {
    ...(key !== undefined && { key }),
    ...(tenant !== undefined && { tenant }),
    ...(model !== undefined && { publication: model }),
    ...(endpoint !== undefined && { endpoint }),
  }
}
