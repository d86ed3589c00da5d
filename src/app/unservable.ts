import { CommandError } from '../base/catalogue/command.ts'

const VARIABLE = /the variable (\w+) is (?:not set|empty)/

/** What makes a variable known to a gateway that runs. */
export function variableHint(problem: string): string | undefined {
  const [, variable] = VARIABLE.exec(problem) ?? []
  if (variable === undefined) return undefined
  return `Variables are read when \`gw serve\` starts: set ${variable} in its environment and restart it, or write \`{ file: /path }\`, which is read while it runs.`
}

/** No revision can be served, and why. Where variables are missing, an apply would change nothing. */
export function unservable(problems: readonly string[]): CommandError {
  const variables = new Set(problems.flatMap(problem => VARIABLE.exec(problem)?.[1] ?? []))
  const message = `No revision in the store can be served: ${problems.join('; ')}.`
  if (variables.size === 0) return new CommandError('GW4009', message)
  return new CommandError('GW4009', message, {
    hint: `Set ${[...variables].join(', ')} in the environment of \`gw serve\`, and start it again.`,
  })
}
