import type { Kind } from '../../schema/kinds.ts'

/** A declared resource, for hints. */
export interface DeclaredResource {
  readonly spec: { readonly [field: string]: unknown }
  readonly owner: 'config' | 'cli' | 'rest'
  /** Present if the owner is `config`. */
  readonly file?: string
  readonly line?: number
  /** Its name in the ledger; absent if equal to its name. */
  readonly account?: string
}

/** Facts outside of the snapshot, which has only what a request needs. */
export interface WhyLookup {
  /** Undefined if unknown or absent. */
  find(kind: Kind, name: string): DeclaredResource | undefined
  /** Whether the key was disabled manually. */
  isSuspended(key: string): boolean
  /** Maintenance was switched on manually. */
  readonly manualMaintenance: boolean
  /** The existing publication with the most similar name. */
  didYouMean(model: string): string | undefined
}
