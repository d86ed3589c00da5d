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
  readonly shared: SharedEvents
  /** Whether the session of the reader is still valid. */
  readonly isLive: () => Promise<boolean>
  /** Aborted when the reader leaves or the server closes. */
  readonly ending: AbortSignal
}

/** Interval of the checks for changes. All readers check at the same times, so that one query serves all of them. */
const CHECK_MS = 1_000
/** A timer may fire this much too early. */
const EARLY_MS = 10
/** Live statistics and new calls in every second check. */
const STATS_EVERY = 2
/** The end of a session by an operation is seen in the audit; its expiry is checked in every tenth check. */
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

/** Readers share the result of a query of the store for this time: many open consoles cost hardly more than one. */
const SHARED_MS = 500

interface StoreSample {
  readonly position: Position
  /** Results derived from the position, by the name of the query; the name of a query about a tenant contains the tenant. */
  readonly answers: Map<string, Promise<unknown>>
}

/**
 * The work that all readers of events share: queries of the store, results derived from them, and events as objects, each
 * of which is serialised once. Users of a tenant share only with users of the same tenant.
 */
export class SharedEvents {
  readonly #store: Store
  readonly #liveStats: Pick<SharedLiveStats, 'latest'>
  readonly #clock: Context['clock']
  #latest: Promise<StoreSample> | undefined
  #askedAtMs = Number.NEGATIVE_INFINITY
  #statsEvent: Extract<ServerEvent, { readonly event: 'live_stats' }> | undefined

  constructor(store: Store, liveStats: Pick<SharedLiveStats, 'latest'>, clock: Context['clock']) {
    this.#store = store
    this.#liveStats = liveStats
    this.#clock = clock
  }

  /** @throws {CommandError} store_… */
  latest(): Promise<StoreSample> {
    const nowMs = this.#clock.monotonicMs()
    if (this.#latest && nowMs - this.#askedAtMs < SHARED_MS) return this.#latest
    this.#askedAtMs = nowMs
    const latest = positionOf(this.#store).then(position => ({ position, answers: new Map() }))
    this.#latest = latest
    // A failure is not shared with later readers.
    latest.catch(() => {
      this.#latest = undefined
    })
    return latest
  }

  /** For readers who see everything. */
  async liveStats(): Promise<ServerEvent> {
    const latest = await this.#liveStats.latest()
    if (this.#statsEvent?.live_stats !== latest)
      this.#statsEvent = { event: 'live_stats', live_stats: latest }
    return this.#statsEvent
  }

  /** The audit lines after a line, without those that change nothing. */
  linesAfter(lastLine: number, sample: StoreSample): Promise<readonly AuditLine[]> {
    return once(sample, `lines ${lastLine}`, async () => {
      if (sample.position.lastLine <= lastLine) return []
      const lines = await this.#store.users.audit({ limit: MAX_CHANGES })
      return lines.filter(({ id, action }) => id > lastLine && !UNSEEN.has(action))
    })
  }

  /** The changes after a line of the audit, for readers who see everything. */
  changed(lastLine: number, sample: StoreSample): Promise<ServerEvent> {
    return once(sample, `changes ${lastLine}`, async () => {
      const lines = await this.linesAfter(lastLine, sample)
      const changes = lines.map(({ action, target }) => ({ action, ...(target !== undefined && { target }) }))
      return { event: 'changed', revision: sample.position.revision, changes }
    })
  }

  /** Differs after each change of a tenant and its keys, and after no other. */
  digestOf(tenant: string, sample: StoreSample): Promise<string> {
    return once(sample, `digest ${tenant}`, () => digestOfOwn(this.#store, tenant))
  }

  /** The newest calls of all, or of a tenant. */
  newest(tenant: string | undefined, sample: StoreSample): Promise<NewestCalls> {
    if (tenant === undefined) return Promise.resolve(sample.position.newest)
    return once(sample, `newest ${tenant}`, () => newestCalls(this.#store, tenant))
  }

  /** New calls of all, or of a tenant. */
  calls(tenant: string | undefined, sample: StoreSample): Promise<ServerEvent> {
    return once(sample, tenant === undefined ? 'calls' : `calls ${tenant}`, async () => {
      const { dispatched, rejected } = await this.newest(tenant, sample)
      return { event: 'calls', newest: dispatched, newest_rejected: rejected }
    })
  }
}

/** Runs a query once for each sample: later readers get the result of the first one. */
function once<Answer>({ answers }: StoreSample, query: string, make: () => Promise<Answer>): Promise<Answer> {
  const known = answers.get(query) as Promise<Answer> | undefined
  if (known) return known
  const made = make()
  answers.set(query, made)
  return made
}

/** Yields events until the session ends or the server closes; for a tenant only those about its own. */
export async function* watchEvents(
  { clock, actor: { tenant } }: Pick<Context, 'clock' | 'actor'>,
  { shared, isLive, ending }: EventPorts,
): AsyncGenerator<ServerEvent> {
  let sample = await shared.latest()
  let { newest } = sample.position
  let newestOwn = await shared.newest(tenant, sample)
  let own = tenant === undefined ? undefined : await shared.digestOf(tenant, sample)
  yield { event: 'status', revision: sample.position.revision }
  if (tenant === undefined) yield await shared.liveStats()
  while (!ending.aborted) {
    const check = await nextCheck(clock, ending)
    if (ending.aborted) return
    const before = sample.position
    sample = await shared.latest()
    const { position } = sample
    const mayHaveEnded = position.lastLine !== before.lastLine || check % SESSION_EVERY === 0
    if (mayHaveEnded && !(await isLive())) return
    const lines = await shared.linesAfter(before.lastLine, sample)
    const hasChanged =
      lines.length > 0 || position.revision !== before.revision || position.keyVersion !== before.keyVersion
    if (hasChanged && tenant === undefined) yield await shared.changed(before.lastLine, sample)
    else if (hasChanged && tenant !== undefined) {
      const digest = await shared.digestOf(tenant, sample)
      // Credits and debits of its wallet are lines alone.
      const isBooked = lines.some(({ target }) => target === `tenant/${tenant}`)
      if (digest !== own || isBooked) yield { event: 'changed', revision: position.revision, changes: [] }
      own = digest
    }
    if (check % STATS_EVERY !== 0) continue
    if (tenant === undefined) yield await shared.liveStats()
    if (!isNewer(position.newest, newest)) continue
    newest = position.newest
    const seen = await shared.newest(tenant, sample)
    if (isNewer(seen, newestOwn)) yield await shared.calls(tenant, sample)
    newestOwn = seen
  }
}

/** Waits until the next check. @returns its number, the same for all readers. */
async function nextCheck(clock: Context['clock'], ending: AbortSignal): Promise<number> {
  const nowMs = clock.monotonicMs()
  const next = Math.floor((nowMs + EARLY_MS) / CHECK_MS) + 1
  await pause(clock, next * CHECK_MS - nowMs, ending)
  return next
}

/** A digest of a tenant and its keys: it changes if any of them does. */
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
