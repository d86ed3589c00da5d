import type { CommanderError } from 'commander'
import { CommandError } from '../base/catalogue/command.ts'
import { didYouMean } from '../config/did-you-mean.ts'

const SUGGESTION = /\n\((Did you mean .+\?)\)$/s

/** What commander rejects, as a failure of ours: its suggestion becomes the hint. */
export function usageError(error: CommanderError, argv: readonly string[]): CommandError {
  const said = error.message.replace(/^error: /, '')
  const suggestion = SUGGESTION.exec(said)?.[1]
  const message = said.replace(SUGGESTION, '')
  return new CommandError('GW6001', sentence(message), { ...hintFor(error, suggestion, argv), cause: error })
}

function hintFor(
  error: CommanderError,
  suggestion: string | undefined,
  argv: readonly string[],
): { hint?: string } {
  if (suggestion !== undefined) return { hint: suggestion }
  const meant = meantChoice(error.message)
  if (meant !== undefined) return { hint: `Did you mean ${meant}?` }
  const [, required] = /^error: required option '(--[a-z-]+)/.exec(error.message) ?? []
  const typed =
    required &&
    didYouMean(
      required,
      argv.filter(word => word.startsWith('--')),
    )
  if (typed !== undefined && typed !== required)
    return { hint: `Did you mean ${required} where you wrote ${typed}?` }
  const globbed = argv.some(word => word === '-c' || word === '--config')
  if (error.code !== 'commander.excessArguments' || !globbed) return {}
  return { hint: 'Several paths each need their own flag: `-c a.yaml -c b.yaml`; or name their directory.' }
}

/** Of the choices that commander lists beside a wrong value, the one that is near it. */
function meantChoice(message: string): string | undefined {
  const [, given, choices] =
    /(?:argument|value) '([^']*)' is invalid.* Allowed choices are (.+)\.$/s.exec(message) ?? []
  return given === undefined || choices === undefined ? undefined : didYouMean(given, choices.split(', '))
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${text.endsWith('.') ? '' : '.'}`
}

/** The value of a flag before anything was parsed: also a failure to parse obeys `--format json`. */
export function earlyFlag<Value extends string>(
  argv: readonly string[],
  flag: `--${string}`,
  values: readonly Value[],
  fallback: Value,
): Value {
  const end = argv.indexOf('--')
  const flags = end < 0 ? argv : argv.slice(0, end)
  let found = fallback
  for (const [at, word] of flags.entries()) {
    const text =
      word === flag ? flags[at + 1] : word.startsWith(`${flag}=`) ? word.slice(flag.length + 1) : undefined
    found = values.find(value => value === text) ?? found
  }
  return found
}
