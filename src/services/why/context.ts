import type { Kind } from '../../schema/kinds.ts'
import type { View } from './decide.ts'
import type { DeclaredResource } from './lookup.ts'
import type { Explanation } from './to-json.ts'

/** A resource as declared, and its manual state. */
export interface DeclaredState extends DeclaredResource {
  readonly name: string
  /** True for a key that was disabled manually. */
  readonly isSuspended?: boolean
}

/** The state that a question is answered from. */
export interface WhyContext {
  readonly source: Explanation['source']
  /** Absent for files. */
  readonly revision?: number
  /** Unknown facts of this source, and the assumptions for them. */
  readonly unknown: readonly string[]
  readonly view: View
  /** Maintenance was switched on manually. */
  readonly manualMaintenance: boolean
  one(kind: Kind, name: string): Promise<DeclaredState | undefined>
  all(kind: Kind): Promise<readonly DeclaredState[]>
}
