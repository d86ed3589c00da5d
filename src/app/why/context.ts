import type { View } from '../../gateway/why/decide.ts'
import type { DeclaredResource } from '../../gateway/why/lookup.ts'
import type { Explanation } from '../../gateway/why/to-json.ts'
import type { Kind } from '../../schema/kinds.ts'

/** A resource as it is declared, and what was done to it by hand. */
export interface DeclaredState extends DeclaredResource {
  readonly name: string
  /** Of a key that was disabled by hand. */
  readonly isSuspended?: boolean
}

/** What a question is answered from. */
export interface WhyContext {
  readonly source: Explanation['source']
  /** Absent of files. */
  readonly revision?: number
  /** What the source cannot know, and what was taken for it. */
  readonly unknown: readonly string[]
  readonly view: View
  /** Maintenance was switched on by hand. */
  readonly manualMaintenance: boolean
  one(kind: Kind, name: string): Promise<DeclaredState | undefined>
  all(kind: Kind): Promise<readonly DeclaredState[]>
}
