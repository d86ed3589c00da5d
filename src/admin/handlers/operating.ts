import { listAudit } from '../../services/audit.ts'
import { type SharedEvents, watchEvents } from '../../services/events.ts'
import type { SharedLiveStats } from '../../services/live-stats/shared-live-stats.ts'
import { setMaintenance, showMaintenance } from '../../services/maintenance.ts'
import type { Sessions } from '../../services/sessions.ts'
import { showStatus } from '../../services/status.ts'
import type { HandlersOf } from '../call.ts'
import { OpenRequests } from '../open-requests.ts'
import type { UseCasePorts } from '../ports.ts'

type Ids = 'get_maintenance' | 'set_maintenance' | 'get_status' | 'get_pulse' | 'watch_events' | 'list_audit'

/** Enough for some tabs of two browsers, each of which opens at most six connections to a server. */
const MAX_STREAMS = 8

/** The ports of live views. */
export interface LivePorts {
  readonly liveStats: SharedLiveStats
  readonly events: SharedEvents
  readonly sessions: Pick<Sessions, 'isLive'>
  /** Aborted when the server closes. */
  readonly closing: AbortSignal
}

export function operatingHandlers({
  gateways,
  liveStats,
  events: shared,
  sessions,
  closing,
}: Pick<UseCasePorts, 'gateways'> & LivePorts): HandlersOf<Ids> {
  const open = new OpenRequests(MAX_STREAMS)
  return {
    async get_maintenance({ context }) {
      return { body: await showMaintenance(context) }
    },
    async set_maintenance({ body, context }) {
      return { body: await setMaintenance(context, body) }
    },
    async get_status({ context }) {
      return { body: await showStatus(context, gateways) }
    },
    async get_pulse() {
      return { body: await liveStats.latest() }
    },
    async watch_events({ query: { limit }, caller: { name, session }, context, left }) {
      const isLive = () => sessions.isLive(session)
      const ending = AbortSignal.any([closing, left])
      const events = open.counted(name, watchEvents(context, { shared, isLive, ending }))
      return { body: limit === undefined ? events : first(limit, events) }
    },
    async list_audit({ query, context }) {
      return { body: await listAudit(context, query) }
    },
  }
}

async function* first<Event>(count: number, events: AsyncIterable<Event>): AsyncGenerator<Event> {
  let seen = 0
  for await (const event of events) {
    yield event
    if (++seen === count) return
  }
}
