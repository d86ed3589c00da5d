/** A gateway that has joined, as any process of the store sees it. */
export interface RegisteredInstance {
  readonly id: string
  /** It writes nothing more, and what it has is taken over. */
  readonly isFenced: boolean
  /** Of how many limits it has a share; undefined: it is alone, and all limits are its own. */
  readonly shares: number | undefined
  /** Its holds that have no end in the store. */
  readonly openCalls: number
  /** Until when it keeps what it has without a sign of life, by the clock of this machine; absent: until its process ends. */
  readonly leaseUntilMs?: number
  /** By the clock of the store. */
  readonly isLeaseOver: boolean
  /** Of a store in SQLite. */
  readonly lane: number
}

/** What is taken from a gateway that will never return. */
export type Forgotten =
  | { readonly is: 'forgotten'; readonly shares: number; readonly openCalls: number }
  /** Nothing was changed. @param canForce whether it can be fenced although it may be alive. */
  | { readonly is: 'alive'; readonly canForce: boolean }
  | { readonly is: 'unknown' }

/** The gateways of a store, for operators. */
export interface InstanceRegistry {
  /** Those that joined first come first. */
  all(): Promise<readonly RegisteredInstance[]>
  /**
   * Fences a gateway, as if its process had ended for certain: it writes nothing more, and who recovers it waits for nothing.
   * @param isForced also if it may be alive.
   */
  forget(id: string, isForced: boolean): Promise<Forgotten>
}
