import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import type { ListenAddress } from '../http/listen.ts'
import type { LedgerThread } from '../store/ledger/ledger-thread.ts'
import type { FilesRejection } from './files/outcome.ts'
import type { NodeTls } from './nodes/node-listener.ts'
import type { Peer } from './supervisor/messages.ts'

export interface ServeOptions {
  /** The store's URL, such as `sqlite:./data/gw.db`. */
  readonly store: string
  /** Applied before anything is served, on each requested reload, and with `watch` on each save. */
  readonly files?: { readonly paths: readonly string[]; readonly watch: boolean }
  /** Absent: no gateway in this process. */
  readonly gateway?: ListenAddress
  readonly control?: ListenAddress
  /** The address for nodes; absent: no nodes. Needs `gateway`. */
  readonly nodes?: ListenAddress & { readonly tls?: NodeTls }
  /** The URL of the control plane for browsers if a proxy in front terminates TLS. */
  readonly controlUrl?: URL
  /** The web console is not served. */
  readonly noConsole?: true
  /** Addresses and networks of proxies in front of the control plane whose forwarding headers are trusted. */
  readonly trustedProxies?: readonly string[]
  /** The version of gw in reports. */
  readonly version?: string
  /** Maximum client connections of the gateway; by default the number that the open-file limit allows. */
  readonly maxConnections?: number
  /** The folder of uploads that are too long for memory, and their limit in all; default: the temporary folder, and 1 GiB. */
  readonly uploads?: { readonly folder?: string; readonly capacityBytes?: number }
  /** This process is one of the workers of a supervisor: it shares its address and all limits with the others. */
  readonly worker?: {
    readonly supervisorPid: number
    /** The workers that serve. */
    readonly peers: () => readonly Peer[]
    /** The files that the supervisor applies. */
    readonly follows?: ServeOptions['files']
  }
  /** Absent: `/metrics` is off, and live statistics of other processes lack rejections and exact latencies. */
  readonly metrics?: {
    /** The token for `/metrics`; never logged. Empty or blank: `/metrics` is off. */
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
  /** See `LedgerRuntime`. */
  readonly ledgerThread?: LedgerThread
  /** See `FollowedFiles`. */
  readonly filesThreadUrl?: URL
  /** The folder of the compiled thread modules; see `openRemoteControl`. */
  readonly threadsUrl?: URL
  /** Aborts the start of parts beside the gateway: the process is about to close. */
  readonly signal?: AbortSignal
  /** Further reasons why `/health` is degraded, each as `code: sentence`. */
  readonly reasons?: () => readonly string[]
  /** Called if the files cannot be applied, in addition to the log line. */
  readonly onFilesRejected?: (rejection: FilesRejection) => void
}

/** Why a process must end. */
export interface Failure {
  readonly error: Error
  /** Requests in flight can still be charged, so they may finish. */
  readonly canBill: boolean
}

/** A serving process. */
export interface Serving {
  readonly gatewayUrl?: string
  /** The address at which only this worker answers. */
  readonly peer?: Peer
  readonly controlUrl?: string
  readonly nodesUrl?: string
  readonly revision: number
  /** Why what is served may differ from the files; empty if it does not. */
  fileReasons(): readonly string[]
  /** Resolves if the process must be closed and ended. */
  readonly failed: Promise<Failure>
  /**
   * Applies the files, if there are any, and reads the store and every secret again. Resolves when the result is
   * served or rejected.
   */
  reload(): Promise<void>
  /** From now on `/health` reports the drain. A supervisor calls it before its workers drain, and {@link close} after that. */
  beginDrain(): void
  /**
   * Stops accepting, lets requests in flight finish for at most `drainMs`, sends an error to the remaining clients,
   * and releases all resources. The control plane closes last: until then its `/health` reports the drain.
   */
  close(drainMs: number): Promise<void>
  /** Whether an export of traces still runs after {@link close}. Nothing can cancel it, and it keeps the process alive. */
  readonly isExporting: boolean
}
