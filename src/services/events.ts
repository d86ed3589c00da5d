import { createHash } from 'node:crypto'
import { pause } from '../base/clock.ts'
import type { OperationOf } from '../schema/api/operations.ts'
import type { AnswerOf } from '../schema/api/types.ts'
import type { Head, Store } from '../store/types.ts'
import type { AuditLine } from '../store/users/types.ts'
import type { Context } from './context.ts'
import type { SharedLiveStats } from './live-stats/shared-live-stats.ts'

/** The data of one event. */
export type ServerEvent = AnswerOf<OperationOf<'watch_events'>>

export interface EventPorts {
  readonly liveStats: Pick<SharedLiveStats, 'latest'>
  readonly position: Pick<SharedPosition, 'latest'>
  /** Whether the session of the reader is still valid. */
  readonly isLive: () => Promise<boolean>
  /** Aborted when the reader leaves or the server closes. */
  readonly ending: AbortSignal
}

/** How late a change is seen. */
const CHECK_MS = 1_000
/** Live statistics and new calls in every second check. */
const STATS_EVERY = 2
/** A session ends by an operation, which leaves a line in the audit, or with time, which is looked at in such checks. */
const SESSION_EVERY = 10
/** More changes at once are one event without them. */
const MAX_CHANGES = 50
/** A log-in changes nothing that others see. */
const UNSEEN: ReadonlySet<string> = new Set(['log_in', 'log_out'])

/** How far a store has come: it changed if any of these grew. */
interface Position extends Head {
  /** Of the audit. */
  readonly lastLine: number
  readonly newest: NewestCalls
}

/** The ids of the newest line of the call log, and of the log of rejected calls; 0 without any. */
interface NewestCalls {
  readonly dispatched: number
  readonly rejected: number
}

/** How long readers share a look at the store: many open consoles ask as seldom as a few. */
const SHARED_MS = 500

/** How far the store has come, for any number of readers. */
export class SharedPosition {
  readonly #store: Store
  readonly #clock: Context['clock']
  #latest: Promise<Position> | undefined
  #askedAtMs = Number.NEGATIVE_INFINITY

  constructor(store: Store, clock: Context['clock']) {
    this.#store = store
    this.#clock = clock
  }

  /** @throws {CommandError} store_… */
  latest(): Promise<Position> {
    const nowMs = this.#clock.monotonicMs()
    if (this.#latest && nowMs - this.#askedAtMs < SHARED_MS) return this.#latest
    this.#askedAtMs = nowMs
    const latest = positionOf(this.#store)
    this.#latest = latest
    // A failure is not shared with later readers.
    latest.catch(() => {
      this.#latest = undefined
    })
    return latest
  }
}

/** Yields events until the session ends or the server closes; for a tenant only those about its own. */
export async function* watchEvents(
  { store, clock, actor: { tenant } }: Pick<Context, 'store' | 'clock' | 'actor'>,
  { liveStats, position, isLive, ending }: EventPorts,
): AsyncGenerator<ServerEvent> {
  let before = await position.latest()
  let own = tenant === undefined ? undefined : await digestOfOwn(store, tenant)
  let { newest } = before
  let newestOwn = tenant === undefined ? newest : await newestCalls(store, tenant)
  yield { event: 'status', revision: before.revision }
  for (let check = 0; !ending.aborted; check++) {
    if (check % STATS_EVERY === 0 && tenant === undefined)
      yield { event: 'live_stats', live_stats: await liveStats.latest() }
    if (check % STATS_EVERY === 0 && isNewer(before.newest, newest)) {
      newest = before.newest
      const seen = tenant === undefined ? newest : await newestCalls(store, tenant)
      if (isNewer(seen, newestOwn))
        yield { event: 'calls', newest: seen.dispatched, newest_rejected: seen.rejected }
      newestOwn = seen
    }
    await pause(clock, CHECK_MS, ending)
    if (ending.aborted) return
    const now = await position.latest()
    const mayHaveEnded = now.lastLine !== before.lastLine || check % SESSION_EVERY === 0
    if (mayHaveEnded && !(await isLive())) return
    const lines = now.lastLine > before.lastLine ? await linesAfter(store, before.lastLine) : []
    const hasChanged =
      lines.length > 0 || now.revision !== before.revision || now.keyVersion !== before.keyVersion
    before = now
    if (!hasChanged) continue
    if (tenant === undefined) {
      const changes = lines.map(({ action, target }) => ({ action, ...(target !== undefined && { target }) }))
      yield { event: 'changed', revision: now.revision, changes }
      continue
    }
    const digest = await digestOfOwn(store, tenant)
    // Credits and debits of its wallet are lines alone.
    const isBooked = lines.some(({ target }) => target === `tenant/${tenant}`)
    if (digest !== own || isBooked) yield { event: 'changed', revision: now.revision, changes: [] }
    own = digest
  }
}

/** Of a tenant and its keys: it differs after each change of theirs, and after no other. */
async function digestOfOwn(store: Store, tenant: string): Promise<string> {
  const { resources, secrets, holds } = await store.find({ kind: 'key', where: { tenant } })
  const { resources: itself } = await store.find({ kind: 'tenant', name: tenant })
  const text = JSON.stringify([resources, secrets, holds, itself])
  return createHash('sha256').update(text).digest('hex')
}

async function positionOf(store: Store): Promise<Position> {
  const [last] = await store.users.audit({ limit: 1 })
  return { ...(await store.head()), lastLine: last?.id ?? 0, newest: await newestCalls(store) }
}

/** @param tenant if given, of its keys alone. */
async function newestCalls({ accounting }: Pick<Store, 'accounting'>, tenant?: string): Promise<NewestCalls> {
  const query = { limit: 1, ...(tenant !== undefined && { tenant }) }
  const [dispatched] = await accounting.callLogs(query)
  const [rejected] = await accounting.rejectedCalls(query)
  return { dispatched: dispatched?.id ?? 0, rejected: rejected?.id ?? 0 }
}

function isNewer(one: NewestCalls, other: NewestCalls): boolean {
  return one.dispatched > other.dispatched || one.rejected > other.rejected
}

/** The audit lines after a line, without those that change nothing. */
async function linesAfter(store: Store, lastLine: number): Promise<readonly AuditLine[]> {
  const lines = await store.users.audit({ limit: MAX_CHANGES })
  return lines.filter(({ id, action }) => id > lastLine && !UNSEEN.has(action))
}
