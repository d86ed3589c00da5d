import type { Snapshot } from './types.ts'

/** How the last attempt to take over a new state ended. */
export interface ReloadReport {
  /** The revision that is served; 0 before the first. */
  readonly revision: number
  readonly ok: boolean
  /** When that attempt ended, milliseconds since the epoch. */
  readonly atMs: number
  /** The revision that cannot be served, and why. */
  readonly rejected?: { readonly revision: number; readonly problems: readonly string[] }
}

/**
 * Holds the one reference that requests read. A state that does not compile is reported beside it and changes
 * nothing: what works keeps working.
 */
export class SnapshotHolder {
  #snapshot: Snapshot | undefined
  #report: ReloadReport = { revision: 0, ok: true, atMs: 0 }

  current(): Snapshot | undefined {
    return this.#snapshot
  }

  report(): ReloadReport {
    return this.#report
  }

  swap(snapshot: Snapshot, atMs: number): void {
    this.#snapshot = snapshot
    this.#report = { revision: snapshot.revision, ok: true, atMs }
  }

  /** Serves a variant of the same state. How the last attempt to take over a new one ended stays as it is told. */
  replace(snapshot: Snapshot): void {
    this.#snapshot = snapshot
  }

  reject(revision: number, problems: readonly string[], atMs: number): void {
    const served = this.#snapshot?.revision ?? 0
    this.#report = { revision: served, ok: false, atMs, rejected: { revision, problems } }
  }
}
