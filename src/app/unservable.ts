import { CommandError } from '../base/catalogue/command.ts'

const VARIABLE = /the variable (\w+) is (?:not set|empty)/

/** No revision can be served, and why. Where variables are missing, an apply would change nothing. */
export function unservable(problems: readonly string[]): CommandError {
  const variables = new Set(problems.flatMap(problem => VARIABLE.exec(problem)?.[1] ?? []))
  const message = `No revision in the store can be served: ${problems.join('; ')}.`
  if (variables.size === 0) return new CommandError('GW4009', message)
  return new CommandError('GW4009', message, {
    hint: `Set ${[...variables].join(', ')} in the environment of \`gw serve\`, and start it again.`,
  })
}
