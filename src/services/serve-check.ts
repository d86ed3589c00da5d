import { keyDigest } from '../base/api-key.ts'
import { CommandError } from '../base/catalogue/command.ts'
import { compile, describe } from '../snapshot/compile.ts'
import type { Check } from './changes/types.ts'

const VARIABLE = /the variable (\w+) is (?:not set|empty)/

/**
 * The check before a commit: whether a gateway could serve the resources. Secrets are not resolved, because only the
 * gateway's machine has them; a placeholder for each lets the compiler check the rest.
 *
 * @param signal is checked once more here; after that the transaction proceeds.
 */
export function wouldServe(signal: AbortSignal): Check {
  return async resources => {
    signal.throwIfAborted()
    const state = { revision: 0, keyVersion: 0, resources, secrets: [], suspendedKeys: [] }
    const compiled = compile(state, reference => keyDigest(describe(reference)))
    return compiled.ok ? [] : compiled.problems
  }
}

/** How to set a missing variable for a running gateway. */
export function variableHint(problem: string): string | undefined {
  const [, variable] = VARIABLE.exec(problem) ?? []
  if (variable === undefined) return undefined
  return `\`gw serve\` reads variables at its start: set ${variable} in its environment and restart it, or write \`{ file: /path }\`, which is read while it runs.`
}

/**
 * The error when no revision can be served. If variables are missing, the hint names them, because an apply would not
 * help.
 */
export function unservable(problems: readonly string[]): CommandError {
  const variables = new Set(problems.flatMap(problem => VARIABLE.exec(problem)?.[1] ?? []))
  const message = `No revision in the store can be served: ${problems.join('; ')}.`
  if (variables.size === 0) return new CommandError('nothing_to_serve', message)
  return new CommandError('nothing_to_serve', message, {
    hint: `Set ${[...variables].join(', ')} in the environment of \`gw serve\`, and start it again.`,
  })
}
