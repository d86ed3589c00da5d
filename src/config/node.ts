import type { Finding } from './report.ts'
import type { Span } from './source.ts'

/**
 * A file as it was meant: aliases followed, merges done, variables filled in. Each node keeps the span at which
 * it is written, so that a mistake in an anchor is shown at the anchor. Aliased nodes are shared, not copied:
 * `size` and `height` say how large they would be if they were.
 */
export type Node = ScalarNode | MapNode | ListNode | BrokenNode

interface Measured {
  readonly span: Span
  /** Nodes in all, this one included, with aliases written out. */
  readonly size: number
  /** Levels in all, this one included. */
  readonly height: number
}

export type Plain = string | number | boolean | null

export interface ScalarNode extends Measured {
  readonly kind: 'scalar'
  readonly value: Plain
  /** The text may be shown; where variables were filled in, it is the text before that. */
  readonly written: string
  readonly interpolated: boolean
}

export interface Entry {
  readonly key: Span
  readonly value: Node
}

export interface MapNode extends Measured {
  readonly kind: 'map'
  readonly entries: ReadonlyMap<string, Entry>
}

export interface ListNode extends Measured {
  readonly kind: 'list'
  readonly items: readonly Node[]
}

/** A value that cannot be used. Its findings are reported where it is used, not where it is only anchored. */
export interface BrokenNode extends Measured {
  readonly kind: 'broken'
  readonly findings: readonly Finding[]
}
