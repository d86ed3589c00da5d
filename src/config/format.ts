import { CONFIG_FAULTS, type ConfigCode } from '../base/catalogue/config.ts'
import type { Place, Problem } from './types.ts'

/** A problem in the format of JSON output and REST. Lines and columns start at 1. */
export interface ProblemJson {
  readonly code: string
  readonly severity: 'error' | 'warning'
  readonly message: string
  readonly file: string
  readonly line: number
  readonly column: number
  /** The other place of a conflict. */
  readonly other?: { readonly file: string; readonly line: number; readonly column: number }
  readonly frame?: string
  /** How to fix it. */
  readonly hint: string
}

export function problemJson({ code, severity, message, place, other, frame, hint }: Problem): ProblemJson {
  return {
    code: CONFIG_FAULTS[code].number,
    severity,
    message,
    ...placeJson(place),
    ...(other && { other: placeJson(other) }),
    ...(frame !== undefined && { frame }),
    hint: hint ?? CONFIG_FAULTS[code].hint,
  }
}

function placeJson({ file, line, column }: Place): { file: string; line: number; column: number } {
  return { file, line, column }
}

const PLAIN = { bold: '', red: '', yellow: '', cyan: '', dim: '', off: '' } as const
const COLOURS: Record<keyof typeof PLAIN, string> = {
  bold: '\u001b[1m',
  red: '\u001b[31m',
  yellow: '\u001b[33m',
  cyan: '\u001b[36m',
  dim: '\u001b[2m',
  off: '\u001b[0m',
}

/** Codes with complete messages: the catalogue's hint would add nothing. */
const COMPLETE = new Set<ConfigCode>([
  'yaml_syntax',
  'wrong_type',
  'missing_field',
  'unknown_value',
  'value_out_of_range',
  'fields_conflict',
])

/**
 * A problem as text, without a final line break:
 *
 *     config/a.yaml:12:5 GW1202 error endpoints.openai: unknown field `base_ulr`
 *       > 12 |     base_ulr: https://api.openai.com/v1
 *            |     ^^^^^^^^
 *       hint: did you mean `base_url`?
 */
export function formatProblem(problem: Problem, { colour }: { colour: boolean }): string {
  const { code, severity, message, place, other, frame, hint } = problem
  const paint = colour ? COLOURS : PLAIN
  const tone = severity === 'error' ? paint.red : paint.yellow
  const heading = `${paint.bold}${formatPlace(place)}${paint.off}`
  const lines = [`${heading} ${CONFIG_FAULTS[code].number} ${tone}${severity}${paint.off} ${message}`]
  for (const line of frame?.split('\n') ?? []) {
    const shade = line.startsWith('>') ? '' : /^ +\| +\^+$/.test(line) ? tone : paint.dim
    lines.push(`  ${shade}${line}${shade && paint.off}`)
  }
  if (other) lines.push(`  see also: ${formatPlace(other)}`)
  const shownHint = hint ?? (COMPLETE.has(code) ? undefined : CONFIG_FAULTS[code].hint)
  if (shownHint !== undefined) lines.push(`  ${paint.cyan}hint:${paint.off} ${shownHint}`)
  return lines.join('\n')
}

/** `config/a.yaml:12:5`, which terminals and editors make clickable. */
export function formatPlace({ file, line, column }: Place): string {
  return `${file}:${line}:${column}`
}
