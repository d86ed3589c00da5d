import { pause } from '../base/clock.ts'
import type { OperationOf } from '../schema/api/operations.ts'
import type { AnswerOf } from '../schema/api/types.ts'
import type { Store } from '../store/types.ts'
import type { AuditLine } from '../store/users/types.ts'
import type { Context } from './context.ts'
import type { SharedLiveStats } from './live-stats/shared-live-stats.ts'

/** The data of one event. */
export type ServerEvent = AnswerOf<OperationOf<'watch_events'>>

export interface EventPorts {
  readonly liveStats: Pick<SharedLiveStats, 'latest'>
  /** Whether the session of the reader is still valid. */
  readonly isLive: () => Promise<boolean>
  /** Aborted when the reader leaves or the server closes. */
  readonly ending: AbortSignal
}

/** How late a change is seen. */
const CHECK_MS = 1_000
/** Live statistics in every second check. */
const STATS_EVERY = 2
/** More changes at once are one event without them. */
const MAX_CHANGES = 50
/** A log-in changes nothing that others see. */
const UNSEEN: ReadonlySet<string> = new Set(['log_in', 'log_out'])

/** Yields events until the session ends or the server closes. */
export async function* watchEvents(
  { store, clock }: Pick<Context, 'store' | 'clock'>,
  { liveStats, isLive, ending }: EventPorts,
): AsyncGenerator<ServerEvent> {
  let before = await positionOf(store)
  yield { event: 'status', revision: before.revision }
  for (let check = 0; !ending.aborted; check++) {
    if (check % STATS_EVERY === 0) yield { event: 'live_stats', live_stats: await liveStats.latest() }
    await pause(clock, CHECK_MS, ending)
    if (ending.aborted || !(await isLive())) return
    const now = await positionOf(store)
    const lines = now.lastLine > before.lastLine ? await linesAfter(store, before.lastLine) : []
    if (lines.length > 0 || now.revision !== before.revision || now.keyVersion !== before.keyVersion) {
      const changes = lines.map(({ action, target }) => ({ action, ...(target !== undefined && { target }) }))
      yield { event: 'changed', revision: now.revision, changes }
    }
    before = now
  }
}

/** How far the store has come: it changed if any of these grew. */
async function positionOf(store: Store) {
  const [last] = await store.users.audit({ limit: 1 })
  return { ...(await store.head()), lastLine: last?.id ?? 0 }
}

/** The audit lines after a line, without those that change nothing. */
async function linesAfter(store: Store, lastLine: number): Promise<readonly AuditLine[]> {
  const lines = await store.users.audit({ limit: MAX_CHANGES })
  return lines.filter(({ id, action }) => id > lastLine && !UNSEEN.has(action))
}
