/** The result of one check of this machine. */
export interface Diagnosis {
  /** The subject: `store`, `port 8090`. */
  readonly check: string
  /** `warn`: works, but may fail soon. `fail`: gw cannot work here. */
  readonly state: 'ok' | 'warn' | 'fail'
  /** The finding, in a sentence. */
  readonly found: string
  /** What to do; absent if there is nothing to do. */
  readonly hint?: string
}

export function fine(check: string, found: string): Diagnosis {
  return { check, state: 'ok', found }
}
