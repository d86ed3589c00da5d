import { CONFIG_FAULTS } from '../../base/catalogue/config.ts'
import { formatProblem, problemJson } from '../../config/format.ts'
import type { Problem } from '../../config/types.ts'
import type { Json } from '../../schema/kinds.ts'
import type { Format } from '../format.ts'
import { workflowCommand } from './github.ts'
import { printable, type Style } from './style.ts'

/** More would scroll the first one out of the buffer of a terminal, and one cause often makes them all. */
const MAX_PROBLEMS = 100

/**
 * Each problem with its place, its code frame and its hint, an empty line after each. Of more than 100, text has the
 * first 100, errors before warnings, and says how many follow.
 */
export function problemsToText(problems: readonly Problem[], format: Format, style: Style): string {
  if (format === 'github') return problems.map(annotation).join('')
  const shown = problems.length <= MAX_PROBLEMS ? problems : mostSevere(problems)
  const text = shown.map(problem => `${problemToText(problem, style)}\n\n`).join('')
  const rest = problems.length - shown.length
  return rest === 0 ? text : `${text}and ${rest} more: \`--format json\` has them all\n\n`
}

function mostSevere(problems: readonly Problem[]): Problem[] {
  const errors = problems.filter(({ severity }) => severity === 'error')
  const warnings = problems.filter(({ severity }) => severity !== 'error')
  return [...errors, ...warnings].slice(0, MAX_PROBLEMS)
}

export function problemsToJson(problems: readonly Problem[]): Json {
  return problems.map(problem => ({ ...problemJson(problem) }))
}

/** One problem, without a line feed at its end. */
export function problemToText(problem: Problem, style: Style): string {
  return formatProblem(legible(problem), { colour: style.colour })
}

/** Escapes control characters of quoted file content, which could control the terminal. */
function legible(problem: Problem): Problem {
  const { message, place, other, frame, hint } = problem
  return {
    ...problem,
    message: printable(message),
    place: { ...place, file: printable(place.file) },
    ...(other && { other: { ...other, file: printable(other.file) } }),
    ...(frame !== undefined && { frame: frame.split('\n').map(printable).join('\n') }),
    ...(hint !== undefined && { hint: printable(hint) }),
  }
}

function annotation({ code, severity, message, place, hint }: Problem): string {
  const at = { file: place.file, line: place.line, col: place.column, title: CONFIG_FAULTS[code].number }
  return workflowCommand(severity, at, `${message}\n${hint ?? CONFIG_FAULTS[code].hint}`)
}
