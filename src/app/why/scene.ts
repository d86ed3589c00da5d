import type { Declared } from '../../gateway/why/background.ts'
import type { View } from '../../gateway/why/decide.ts'
import type { Explanation } from '../../gateway/why/told.ts'
import type { Kind } from '../../schema/kinds.ts'

/** A resource as it is declared, and what was done to it by hand. */
export interface KnownResource extends Declared {
  readonly name: string
  /** Of a key that was disabled by hand. */
  readonly isHeld?: boolean
}

/** What a question is answered from. */
export interface Scene {
  readonly source: Explanation['source']
  /** Absent of files. */
  readonly revision?: number
  /** What the source cannot know, and what was taken for it. */
  readonly unknown: readonly string[]
  readonly view: View
  /** Maintenance was switched on by hand. */
  readonly maintenanceByHand: boolean
  one(kind: Kind, name: string): Promise<KnownResource | undefined>
  all(kind: Kind): Promise<readonly KnownResource[]>
}
