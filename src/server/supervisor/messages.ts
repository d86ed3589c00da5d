/** A worker, at the address where it alone answers. */
export interface Peer {
  /** Its lane in the store. */
  readonly name: string
  readonly url: string
}

/** All workers, for each of them. */
export interface WorkersMessage {
  readonly is: 'workers'
  /** Those that serve. */
  readonly peers: readonly Peer[]
  /** How many there should be. */
  readonly wanted: number
  /** Why all of them are degraded: of the files that the supervisor follows. */
  readonly reasons: readonly string[]
}

/** A message from the supervisor to a worker. */
export type ToWorker =
  | WorkersMessage
  /** End when the requests in flight have. */
  | { readonly is: 'drain' }

/** A message from a worker to its supervisor. */
export type FromWorker = ServingWorker

/** The worker serves. */
export interface ServingWorker {
  readonly is: 'serving'
  /** The address that all workers share. */
  readonly url: string
  readonly peer: Peer
  readonly revision: number
}
