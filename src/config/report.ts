import type { ConfigCode } from '../base/catalogue/config.ts'
import { codeFrame } from './code-frame.ts'
import { maskText } from './mask.ts'
import { formatPath, type Path } from './path.ts'
import type { Span } from './source.ts'
import type { Problem } from './types.ts'

/** An error at a span; the report converts it to a {@link Problem}. */
export interface Finding {
  readonly code: ConfigCode
  readonly span: Span
  /** The error, without the path of the field. */
  readonly text: string
  readonly path?: Path
  readonly severity?: 'error' | 'warning'
  readonly other?: Span
  readonly hint?: string
}

/** The limit of listed problems per file; the others are counted. */
const LISTED_PER_FILE = 500

/**
 * Collects the problems of a tree. A value that several aliases use is reported once. Frames are drawn last, after
 * every secret of every file was found and redacted.
 */
export class Report {
  readonly #findings = new Map<string, Finding>()
  #errors = 0

  add(finding: Finding): void {
    const { source, start } = finding.span
    const identity = `${finding.code} ${source.order}:${start} ${finding.text}`
    if (this.#findings.has(identity)) return
    if (finding.severity !== 'warning') this.#errors++
    this.#findings.set(identity, finding)
  }

  get hasErrors(): boolean {
    return this.#errors > 0
  }

  /** Every problem, ordered by file and line. */
  problems(): Problem[] {
    const byFile = new Map<number, Finding[]>()
    for (const finding of this.#findings.values()) {
      const { order } = finding.span.source
      const findings = byFile.get(order)
      if (findings) findings.push(finding)
      else byFile.set(order, [finding])
    }
    return [...byFile].sort(([a], [b]) => a - b).flatMap(([, findings]) => listed(findings))
  }
}

function listed(findings: Finding[]): Problem[] {
  const first = findings.sort((a, b) => a.span.start - b.span.start).slice(0, LISTED_PER_FILE)
  const unlisted = findings.length - first.length
  return first.map((finding, at) => toProblem(finding, at === first.length - 1 ? unlisted : 0))
}

function toProblem(finding: Finding, unlisted: number): Problem {
  const { code, severity = 'error', span, other, path, text, hint } = finding
  const prefix = path && path.length > 0 ? `${formatPath(path)}: ` : ''
  const more = unlisted > 0 ? ` (and ${unlisted} more in this file)` : ''
  const drawn = codeFrame(span)
  return {
    code,
    severity,
    message: maskText(prefix + text) + more,
    place: span.source.placeAt(span.start),
    ...(other && { other: other.source.placeAt(other.start) }),
    ...(drawn !== undefined && { frame: drawn }),
    ...(hint !== undefined && { hint: maskText(hint) }),
  }
}
