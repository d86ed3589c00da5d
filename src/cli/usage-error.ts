import type { CommanderError } from 'commander'
import { CommandError } from '../base/catalogue/command.ts'
import { didYouMean } from '../config/did-you-mean.ts'

const SUGGESTION = /\n\((Did you mean .+\?)\)$/s

/** Converts an error of commander: its suggestion becomes the hint. */
export function usageError(error: CommanderError, argv: readonly string[]): CommandError {
  const text = error.message.replace(/^error: /, '')
  const suggestion = SUGGESTION.exec(text)?.[1]
  const message = text.replace(SUGGESTION, '')
  return new CommandError('usage', sentence(message), { ...hintFor(error, suggestion, argv), cause: error })
}

function hintFor(
  error: CommanderError,
  suggestion: string | undefined,
  argv: readonly string[],
): { hint?: string } {
  if (suggestion !== undefined) return { hint: suggestion }
  const choice = similarChoice(error.message)
  if (choice !== undefined) return { hint: `Did you mean ${choice}?` }
  const [, required] = /^error: required option '(--[a-z-]+)/.exec(error.message) ?? []
  const typed =
    required &&
    didYouMean(
      required,
      argv.filter(word => word.startsWith('--')),
    )
  if (typed !== undefined && typed !== required)
    return { hint: `Did you mean ${required} instead of ${typed}?` }
  const globbed = argv.some(word => word === '-c' || word === '--config')
  if (error.code !== 'commander.excessArguments' || !globbed) return {}
  return { hint: 'Several paths each need their own flag: `-c a.yaml -c b.yaml`; or name their directory.' }
}

/** The most similar of the choices that commander lists for an invalid value. */
function similarChoice(message: string): string | undefined {
  const [, given, choices] =
    /(?:argument|value) '([^']*)' is invalid.* Allowed choices are (.+)\.$/s.exec(message) ?? []
  return given === undefined || choices === undefined ? undefined : didYouMean(given, choices.split(', '))
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${text.endsWith('.') ? '' : '.'}`
}

/** The value of a flag before parsing, so that parse errors respect `--format json`. */
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
