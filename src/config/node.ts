import type { Finding } from './report.ts'
import type { Span } from './source.ts'

/**
 * A resolved YAML node: aliases followed, merges applied, variables filled in. Each node keeps its span, so that an
 * error in an anchor is shown at the anchor. Aliased nodes are shared, not copied: `size` and `height` are those of
 * the expanded tree.
 */
export type Node = ScalarNode | MapNode | ListNode | BrokenNode

interface Measured {
  readonly span: Span
  /** All nodes including this one, with aliases expanded. */
  readonly size: number
  /** All levels including this one. */
  readonly height: number
}

export type Plain = string | number | boolean | null

export interface ScalarNode extends Measured {
  readonly kind: 'scalar'
  readonly value: Plain
  /** The source text for messages; without the values of variables. */
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

/** An unusable value. Its findings are reported at each use, not at the anchor alone. */
export interface BrokenNode extends Measured {
  readonly kind: 'broken'
  readonly findings: readonly Finding[]
}
