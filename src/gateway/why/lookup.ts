import type { Kind } from '../../schema/kinds.ts'

/** A resource as it is declared: what a hint speaks of. */
export interface DeclaredResource {
  readonly spec: { readonly [field: string]: unknown }
  readonly owner: 'config' | 'cli' | 'rest'
  /** Of `config`: where it stands. */
  readonly file?: string
  readonly line?: number
  /** Under what it is counted and booked; absent where that is its name. */
  readonly account?: string
}

/** What is known beside the snapshot, which holds nothing but what a request needs. */
export interface WhyLookup {
  /** Undefined where it is not known, or not there. */
  find(kind: Kind, name: string): DeclaredResource | undefined
  /** A key that was disabled by hand. */
  isSuspended(key: string): boolean
  /** Maintenance was switched on by hand. */
  readonly manualMaintenance: boolean
  /** The name of a publication that was probably meant. */
  meant(model: string): string | undefined
}
