/** What one look at this machine has found. */
export interface Diagnosis {
  /** What was looked at: `store`, `port 8090`. */
  readonly check: string
  /** `warn`: it works, and may not for long. `fail`: gw cannot do its work here. */
  readonly state: 'ok' | 'warn' | 'fail'
  /** What was found, in a sentence. */
  readonly found: string
  /** What to do; absent where nothing is to be done. */
  readonly hint?: string
}

export function fine(check: string, found: string): Diagnosis {
  return { check, state: 'ok', found }
}
