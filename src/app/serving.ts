import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import type { ListenAddress } from '../http/listen.ts'
import type { LedgerThread } from '../store/ledger/ledger-thread.ts'
import type { FilesRejection } from './files/outcome.ts'

export interface ServeOptions {
  /** The store's URL, such as `sqlite:./data/gw.db`. */
  readonly store: string
  /** Applied before anything is served, on each reload that is asked for, and with `watch` on each save. */
  readonly files?: { readonly paths: readonly string[]; readonly watch: boolean }
  /** Absent: not in this process. */
  readonly gateway?: ListenAddress
  readonly control?: ListenAddress
  /** Where browsers reach the control plane, where a proxy in front does TLS. */
  readonly controlUrl?: URL
  /** Addresses and networks of proxies in front of the control plane whose word about their clients counts. */
  readonly trustedProxies?: readonly string[]
  /** Of gw, as others are told of it. */
  readonly version?: string
  /** Open connections of clients of the gateway; by default as many as the system's descriptors allow for. */
  readonly maxConnections?: number
  /** Absent: nobody may ask for `/metrics`. */
  readonly metrics?: {
    /** Opens it; never logged. Empty or blank: nobody has it. */
    readonly token: string
    readonly version: string
  }
}

export interface ServePorts {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly cwd: string
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  /** See `Books`. */
  readonly ledgerThread?: LedgerThread
  /** See `FollowedFiles`. */
  readonly filesThreadUrl?: URL
  /** Where the compiled thread of the control plane is; see `openRemoteControl`. */
  readonly threadsUrl?: URL
  /** Once it is aborted nobody waits any more for what is coming up beside the gateway: it is to be closed. */
  readonly signal?: AbortSignal
  /** Called where files cannot be applied, beside the line in the log. */
  readonly onFilesRejected?: (rejection: FilesRejection) => void
}

/** Why a process cannot go on. */
export interface Failure {
  readonly error: Error
  /** Requests at hand can still be billed, and so let finish. */
  readonly canBill: boolean
}

/** A process that serves. */
export interface Serving {
  readonly gatewayUrl?: string
  readonly controlUrl?: string
  readonly revision: number
  /** Resolves where the process cannot go on: it should be closed, and end. */
  readonly failed: Promise<Failure>
  /**
   * Applies the files, where there are any, and reads the store and every secret again. Resolves when what came of it
   * is served or rejected.
   */
  reload(): Promise<void>
  /**
   * Stops accepting, lets requests at hand finish for at most `drainMs`, tells the clients of those that have not, and
   * gives everything back. The control plane goes last: until then its `/health` tells of the others.
   */
  close(drainMs: number): Promise<void>
}
