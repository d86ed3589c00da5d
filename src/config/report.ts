import type { ConfigCode } from '../base/catalogue/config.ts'
import { frame } from './frame.ts'
import { maskText } from './mask.ts'
import { formatPath, type Path } from './path.ts'
import type { Span } from './source.ts'
import type { Problem } from './types.ts'

/** One mistake, at a span; the report makes a {@link Problem} of it. */
export interface Finding {
  readonly code: ConfigCode
  readonly span: Span
  /** What is wrong, without the field's path. */
  readonly text: string
  readonly path?: Path
  readonly severity?: 'error' | 'warning'
  readonly other?: Span
  readonly hint?: string
}

/** A file with more mistakes than this is one mistake: the rest is counted, not listed. */
const LISTED_PER_FILE = 500

/**
 * Gathers what is wrong with a tree. A value that several aliases lead to is reported once. Frames are drawn
 * last, when every secret of every file has been found and hidden.
 */
export class Report {
  readonly #findings = new Map<string, Finding>()
  readonly #listed = new Map<number, number>()
  #errors = 0

  add(finding: Finding): void {
    const { source, start } = finding.span
    const identity = `${finding.code} ${source.order}:${start} ${finding.text}`
    if (this.#findings.has(identity)) return
    if (finding.severity !== 'warning') this.#errors++
    const listed = (this.#listed.get(source.order) ?? 0) + 1
    this.#listed.set(source.order, listed)
    if (listed <= LISTED_PER_FILE) this.#findings.set(identity, finding)
  }

  get hasErrors(): boolean {
    return this.#errors > 0
  }

  /** Every problem, in the order of the files and of the lines in them. */
  problems(): Problem[] {
    const ordered = [...this.#findings.values()].sort(
      (a, b) => a.span.source.order - b.span.source.order || a.span.start - b.span.start,
    )
    return ordered.map((finding, at) => {
      const { order } = finding.span.source
      const isLast = ordered[at + 1]?.span.source.order !== order
      const unlisted = isLast ? (this.#listed.get(order) ?? 0) - LISTED_PER_FILE : 0
      return toProblem(finding, unlisted)
    })
  }
}

function toProblem(finding: Finding, unlisted: number): Problem {
  const { code, severity = 'error', span, other, path, text, hint } = finding
  const where = path && path.length > 0 ? `${formatPath(path)}: ` : ''
  const more = unlisted > 0 ? ` (and ${unlisted} more in this file)` : ''
  const drawn = frame(span)
  return {
    code,
    severity,
    message: maskText(where + text) + more,
    place: span.source.placeAt(span.start),
    ...(other && { other: other.source.placeAt(other.start) }),
    ...(drawn !== undefined && { frame: drawn }),
    ...(hint !== undefined && { hint: maskText(hint) }),
  }
}
