import type { Snapshot } from './types.ts'

/** The result of the last reload. */
export interface ReloadReport {
  /** The revision that is served; 0 before the first. */
  readonly revision: number
  readonly ok: boolean
  /** End of the reload, milliseconds since the epoch. */
  readonly atMs: number
  /** The invalid revision and its problems. */
  readonly rejected?: { readonly revision: number; readonly problems: readonly string[] }
}

/**
 * Holds the reference to the current snapshot. A state that does not compile is reported, and the current snapshot stays
 * in use.
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

  /** Replaces the snapshot by a variant of the same state, and keeps the report. */
  replace(snapshot: Snapshot): void {
    this.#snapshot = snapshot
  }

  reject(revision: number, problems: readonly string[], atMs: number): void {
    const served = this.#snapshot?.revision ?? 0
    this.#report = { revision: served, ok: false, atMs, rejected: { revision, problems } }
  }
}
