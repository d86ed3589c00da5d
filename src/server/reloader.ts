import { reasonOf } from '../base/catalogue/wire.ts'
import type { Clock, Timer } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { environmentProxies } from '../base/proxies.ts'
import { yieldToEventLoop } from '../base/yield-to-event-loop.ts'
import { secretStamp } from '../config/secrets.ts'
import type { SecretReference } from '../schema/scalars.ts'
import type { ServedState } from '../schema/state.ts'
import type { SecretSource } from '../schema/stored-credential.ts'
import { findSecret, type SecretPorts } from '../services/secrets.ts'
import { type Compiled, describe, linking, withSwitchOf } from '../snapshot/compile.ts'
import { type Decoded, decoding } from '../snapshot/decoding.ts'
import type { SnapshotHolder } from '../snapshot/holder.ts'
import type { Snapshot } from '../snapshot/types.ts'
import type { ServingStore } from '../store/types.ts'

/** The delay until a commit of another process is seen; a poll takes some microseconds. */
const POLL_MS = 100
/** Secret files are checked less often: each check costs a system call. */
const FILES_MS = 250
/** Retry delay after a failure that depends on the environment, not on the revision. */
const RETRY_MS = 5_000
/** How many revisions a start goes back to find one that can be served. */
const MAX_FALLBACK = 100

export interface ReloaderPorts extends SecretPorts {
  readonly store: Pick<ServingStore, 'readState' | 'readStateAt' | 'changed'>
  readonly holder: SnapshotHolder
  readonly clock: Clock
  readonly log: Log
  /** Awaited before a snapshot is swapped in; if it rejects, the old snapshot stays. */
  readonly prepare: (snapshot: Snapshot) => Promise<void>
  /** Called with each new snapshot, in the turn of the swap. */
  readonly onSwap: (snapshot: Snapshot) => void
}

/**
 * Keeps the snapshot up to date with the store.
 *
 *     poll ──▶ moved? ──▶ read ──▶ maintenance switch ──▶ decode ──▶ resolve secrets ──▶ link ──▶ swap
 *                           │        (at once)                            │             │
 *                           └─────────────────────────────────────────────┴─────────────┴─▶ the old snapshot
 *                                                                                           stays; error logged
 *
 * No step blocks the event loop for more than some milliseconds, even for a large state.
 */
export class Reloader {
  readonly #ports: ReloaderPorts
  #timer: Timer | undefined
  /** Checks run one after another. */
  #working: Promise<void> = Promise.resolve()
  #stopped = false
  #retryAtMs = Number.POSITIVE_INFINITY
  #filesAtMs = Number.NEGATIVE_INFINITY
  /** Stamps of the files that the secrets of the state were read from. */
  #stamps: ReadonlyMap<SecretReference, string> = new Map()
  /** The secrets that were found last, by their descriptions: those of the served snapshot, and of a rejected one. */
  #known: ReadonlyMap<string, string> = new Map()
  /** The newest decoded state: the next decoding reuses its unchanged parts. */
  #decoded: Decoded | undefined
  /** The rejected revision that keys were last updated for. */
  #closedBy: number | undefined
  /** The last logged problem: a lasting problem is logged once. */
  #lastProblem = ''

  constructor(ports: ReloaderPorts) {
    this.#ports = ports
  }

  /**
   * Serves the newest revision, or the newest earlier one that can be served, and starts to poll.
   *
   * @returns the problems if no revision can be served, else undefined.
   */
  async start(): Promise<readonly string[] | undefined> {
    const { store, holder } = this.#ports
    const state = await store.readState()
    await this.#take(state)
    const newest = holder.report()
    for (let back = 1; !holder.current() && back <= MAX_FALLBACK && back < state.revision; back++) {
      const compiled = await this.#compileAt(state.revision - back)
      if (compiled.ok) await this.#swap(compiled.snapshot)
    }
    if (!holder.current()) return newest.rejected?.problems ?? []
    if (newest.rejected) holder.reject(newest.rejected.revision, newest.rejected.problems, newest.atMs)
    this.#schedule()
    return undefined
  }

  /** Reads the store and every secret again, even if unchanged. Resolves when the result is served or rejected. */
  reload(): Promise<void> {
    return this.#next(() => this.#check('force'))
  }

  /** Ends the polling; resolves after a check in progress. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#timer?.cancel()
    await this.#working
  }

  #schedule(): void {
    if (this.#stopped) return
    this.#timer = this.#ports.clock.after(POLL_MS, () => {
      // No promise if nothing has changed: an idle gateway does little else.
      if (this.#isDue()) void this.#next(() => this.#check()).finally(() => this.#schedule())
      else this.#schedule()
    })
  }

  #isDue(): boolean {
    const nowMs = this.#ports.clock.monotonicMs()
    if (nowMs >= this.#retryAtMs || (this.#stamps.size > 0 && nowMs >= this.#filesAtMs)) return true
    try {
      return this.#ports.store.changed()
    } catch {
      // The check fails as well, and logs the error.
      return true
    }
  }

  #next(check: () => Promise<void>): Promise<void> {
    this.#working = this.#working.then(() => (this.#stopped ? undefined : check()))
    return this.#working
  }

  /** Never rejects. */
  async #check(force?: 'force'): Promise<void> {
    const { store, clock } = this.#ports
    try {
      const isRetry = clock.monotonicMs() >= this.#retryAtMs
      const isForced = force !== undefined || (await this.#secretsMoved())
      if (store.changed() || isRetry || isForced)
        await this.#take(await store.readState(this.#decoded?.state), isForced)
    } catch (error) {
      this.#retryAtMs = clock.monotonicMs() + RETRY_MS
      this.#reject(this.#ports.holder.report().revision, [`the store cannot be read: ${reasonOf(error)}`])
    }
  }

  /** @param force also if the revision is already served: a secret has changed, or a reload was requested. */
  async #take(state: ServedState, force = false): Promise<void> {
    const { holder, clock, log } = this.#ports
    const served = holder.current()
    const same = served?.revision === state.revision && served.keyVersion === state.keyVersion
    if (same && holder.report().ok && !force) return
    this.#switchMaintenance(state)
    this.#decoded = await yieldToEventLoop(decoding(state, this.#decoded), clock)
    const { sources } = this.#decoded
    // Before the files are read, so that the next check sees a concurrent write.
    this.#stamps = await stampsOf(sources.flatMap(source => ('kept' in source ? [] : source)))
    const compiled = await this.#compile(this.#decoded)
    if (!compiled.ok) {
      this.#retryAtMs = clock.monotonicMs() + RETRY_MS
      await this.#keepKeysCurrent(state)
      return this.#reject(state.revision, compiled.problems)
    }
    try {
      await this.#swap(compiled.snapshot)
    } catch (error) {
      this.#retryAtMs = clock.monotonicMs() + RETRY_MS
      return this.#reject(state.revision, [`past usage cannot be loaded: ${reasonOf(error)}`])
    }
    this.#retryAtMs = Number.POSITIVE_INFINITY
    this.#lastProblem = ''
    log.info({ revision: state.revision, key_version: state.keyVersion }, 'serving revision')
  }

  /** At once, even if the rest of the state cannot be served: the switch must work in an incident. */
  #switchMaintenance(state: ServedState): void {
    const { holder, log } = this.#ports
    const served = holder.current()
    if (!served) return
    const switched = withSwitchOf(state, served)
    if (switched === served) return
    holder.replace(switched)
    log.warn({ maintenance: switched.maintenance ?? 'off' }, 'maintenance')
  }

  /**
   * A revision that cannot be served must not keep a disabled, revoked or deleted key alive. The served revision is
   * compiled again with the current secrets and suspensions; a secret of it that has gone stays as it was.
   */
  async #keepKeysCurrent(rejected: ServedState): Promise<void> {
    const served = this.#ports.holder.current()
    if (!served) return
    const isClosed = this.#closedBy === rejected.revision || served.revision === rejected.revision
    if (isClosed && served.keyVersion === rejected.keyVersion) return
    const compiled = await this.#compileAt(served.revision, this.#known)
    if (!compiled.ok) return
    await this.#swap(compiled.snapshot)
    this.#closedBy = rejected.revision
  }

  async #swap(snapshot: Snapshot): Promise<void> {
    await this.#ports.prepare(snapshot)
    this.#ports.holder.swap(snapshot, this.#ports.clock.nowMs())
    this.#ports.onSwap(snapshot)
  }

  #reject(revision: number, problems: readonly string[]): void {
    const { holder, clock, log } = this.#ports
    holder.reject(revision, problems, clock.nowMs())
    const problem = `${revision} ${problems.join('\n')}`
    if (problem === this.#lastProblem) return
    this.#lastProblem = problem
    log.error({ revision, served_revision: holder.report().revision, problems }, 'cannot serve revision')
  }

  async #compileAt(revision: number, known?: ReadonlyMap<string, string>): Promise<Compiled> {
    const { store, clock } = this.#ports
    return this.#compile(await yieldToEventLoop(decoding(await store.readStateAt(revision)), clock), known)
  }

  /** @param known Secrets for those that are not found any more. */
  async #compile(decoded: Decoded, known: ReadonlyMap<string, string> = new Map()): Promise<Compiled> {
    const { state, sources } = decoded
    const secrets = new Map<string, string | Error>()
    const found = new Map<string, string>()
    await Promise.all(
      sources.map(async source => {
        const name = describe(source)
        const secret = await findSecret(source, state.kept ?? [], this.#ports)
        secrets.set(name, secret instanceof Error ? (known.get(name) ?? secret) : secret)
        if (!(secret instanceof Error)) found.set(name, secret)
      }),
    )
    const secretOf = (source: SecretSource) => secrets.get(describe(source)) ?? new Error('was not looked up')
    const proxies = environmentProxies(this.#ports.environment)
    const compiled = await yieldToEventLoop(linking(decoded, secretOf, proxies), this.#ports.clock)
    // What is served may need secrets that a rejected revision does not have.
    this.#known = compiled.ok && known.size === 0 ? found : new Map([...this.#known, ...found])
    return compiled
  }

  async #secretsMoved(): Promise<boolean> {
    const nowMs = this.#ports.clock.monotonicMs()
    if (this.#stamps.size === 0 || nowMs < this.#filesAtMs) return false
    this.#filesAtMs = nowMs + FILES_MS
    const references = [...this.#stamps.keys()]
    const now = await stampsOf(references)
    return references.some(reference => now.get(reference) !== this.#stamps.get(reference))
  }
}

async function stampsOf(
  references: readonly SecretReference[],
): Promise<ReadonlyMap<SecretReference, string>> {
  const files = references.filter(({ file }) => file !== undefined)
  const stamps = await Promise.all(files.map(secretStamp))
  return new Map(files.map((reference, index) => [reference, stamps[index] ?? '']))
}
