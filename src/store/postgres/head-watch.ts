import type { Clock, Timer } from '../../base/clock.ts'
import type { ServedState } from '../../schema/state.ts'
import { type ChangeDetector, isSameHead, type PlainSql } from '../engine.ts'
import { readHead } from '../served-state.ts'
import type { Head } from '../types.ts'
import { nameOfAddress, type PostgresAddress } from './address.ts'
import type { PostgresConnections } from './connection.ts'
import { Listener } from './listener.ts'

/** Without `LISTEN`. */
const POLL_MS = 500
/** With it: a notification may be lost with its connection. */
const RARE_POLL_MS = 5_000

export interface WatchOptions {
  /** The server itself, if a pooler stands before it. */
  readonly direct: PostgresAddress
  readonly clock: Clock
  /** Called once if there is no `LISTEN`. */
  readonly onNotice: (message: string) => void
}

interface HeadWatchPorts extends WatchOptions {
  readonly connections: PostgresConnections
  readonly readBare: <T>(work: (raw: PlainSql) => Promise<T>) => Promise<T>
}

/**
 * Notices commits by other processes: from the first `readState` on it listens for them, and reads the head now and
 * then, or often if there is no `LISTEN`.
 *
 *     readState ──▶ seen          notification, timer ──▶ poll ──▶ latest          changed: latest is not seen
 */
export class HeadWatch implements ChangeDetector {
  readonly #ports: HeadWatchPorts
  readonly #listener: Listener
  /** The head of the last `readState`, updated after own commits. */
  #seen: Head | undefined
  /** The newest head that is known; undefined if it could not be read. */
  #latest: Head | undefined
  /** A poll that began before this changed may have an older head. */
  #generation = 0
  #polling: Promise<void> | undefined
  #timer: Timer | undefined
  #ended = false
  #hasNoticed = false

  constructor(ports: HeadWatchPorts) {
    this.#ports = ports
    this.#listener = new Listener({
      address: ports.direct,
      connections: ports.connections,
      clock: ports.clock,
      onNotification: () => this.#poll(),
      onState: isListening => {
        this.#reschedule(isListening)
        // What was committed before it listened.
        if (isListening) this.#poll()
      },
    })
  }

  async readState(read: (raw: PlainSql) => Promise<ServedState>): Promise<ServedState> {
    const state = await this.#ports.readBare(read)
    this.#seen = { revision: state.revision, keyVersion: state.keyVersion }
    this.#latest = this.#seen
    this.#listener.start()
    // A commit since the snapshot of the read.
    this.#poll()
    return state
  }

  changed(): boolean {
    return !isSameHead(this.#seen, this.#latest)
  }

  recordOwnCommit(from: Head, to: Head): void {
    if (isSameHead(this.#seen, from)) this.#seen = to
    if (isSameHead(this.#latest, from)) this.#latest = to
    this.#generation++
  }

  async end(): Promise<void> {
    this.#ended = true
    this.#timer?.cancel()
    await this.#listener.end()
    await this.#polling
  }

  /** Reads the head; again if it may have changed meanwhile. */
  #poll(): void {
    this.#generation++
    this.#polling ??= this.#read().finally(() => {
      this.#polling = undefined
      this.#reschedule(this.#listener.isListening)
    })
  }

  async #read(): Promise<void> {
    for (let generation = -1; generation !== this.#generation && !this.#ended; ) {
      generation = this.#generation
      const head = await this.#ports.readBare(readHead).catch(unreadable)
      if (generation === this.#generation) this.#latest = head
    }
  }

  #reschedule(isListening: boolean): void {
    this.#timer?.cancel()
    if (this.#ended) return
    if (!isListening && this.#listener.hasTried && !this.#hasNoticed) {
      this.#hasNoticed = true
      this.#ports.onNotice(
        `changes are looked for every ${POLL_MS} ms: LISTEN does not work through ${nameOfAddress(this.#ports.direct)}. ` +
          'If a pooler is there, name the server itself in GW_STORE_DIRECT.',
      )
    }
    this.#timer = this.#ports.clock.after(isListening ? RARE_POLL_MS : POLL_MS, () => this.#poll())
  }
}

/** Counts as changed: the next `readState` reports the error. */
function unreadable(): undefined {
  return undefined
}
