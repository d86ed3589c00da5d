import { Command } from 'commander'

/**
 * A command of `gw`, or a group of commands. The help begins with examples, because most readers look for them.
 *
 * @param examples whole command lines; the first is the most common.
 */
export function newCommand(name: string, summary: string, examples: readonly string[]): Command {
  const title = examples.length > 1 ? 'Examples:' : 'Example:'
  const lead = [title, ...examples.map(example => `  ${example}`)].join('\n')
  return new Command(name)
    .description(summary)
    .helpOption('-h, --help', 'print this help')
    .addHelpText('before', `${lead}\n`)
}

/** Runs `change` on a command and all its subcommands. */
export function everyCommand(command: Command, change: (each: Command) => void): void {
  change(command)
  for (const below of command.commands) everyCommand(below, change)
}
