import type { Argument, Command, Option } from 'commander'

/** The source of the words at a position of the command line. */
export type Words =
  | { readonly from: 'choices'; readonly choices: readonly string[] }
  /** Names from the store or the schema. */
  | { readonly from: 'store'; readonly kind: NamedKind }
  | { readonly from: 'files' }
  | { readonly from: 'nowhere' }

export const NAMED_KINDS = ['keys', 'models', 'endpoints', 'nodes', 'tenants', 'revisions', 'fields'] as const
export type NamedKind = (typeof NAMED_KINDS)[number]

export interface CompletedFlag {
  /** All spellings, such as `--format` and `-c`. */
  readonly spellings: readonly string[]
  readonly about: string
  /** Absent if the flag takes no value. */
  readonly value?: Words
}

/** A command as a shell completes it. */
export interface CompletedCommand {
  /** `gw keys show`. */
  readonly path: string
  readonly about: string
  readonly commands: readonly { readonly name: string; readonly about: string }[]
  readonly flags: readonly CompletedFlag[]
  /** The same for all arguments of the command. */
  readonly argument: Words
}

const NOWHERE: Words = { from: 'nowhere' }
const FILES: Words = { from: 'files' }
const BY_FLAG: Readonly<Record<string, Words>> = {
  '--config': FILES,
  '--output': FILES,
  '--key': { from: 'store', kind: 'keys' },
  '--model': { from: 'store', kind: 'models' },
  '--tenant': { from: 'store', kind: 'tenants' },
  '--endpoint': { from: 'store', kind: 'endpoints' },
  '--node': { from: 'store', kind: 'nodes' },
}
const BY_ARGUMENT: Readonly<Record<string, Words>> = {
  tenant: { from: 'store', kind: 'tenants' },
  revision: { from: 'store', kind: 'revisions' },
  'field-or-code': { from: 'store', kind: 'fields' },
  file: FILES,
  plan: FILES,
  dir: FILES,
}

/** Every command of the line, the program first. */
export function completedCommands(program: Command): readonly CompletedCommand[] {
  const globals = program.options.map(completedFlag)
  const walk = (command: Command, path: string): readonly CompletedCommand[] => [
    {
      path,
      about: command.description(),
      commands: visible(command).map(below => ({ name: below.name(), about: below.description() })),
      flags: [...(command === program ? [] : command.options.map(completedFlag)), ...globals, HELP],
      argument: argumentWords(path, command.registeredArguments[0]),
    },
    ...visible(command).flatMap(below => walk(below, `${path} ${below.name()}`)),
  ]
  return walk(program, program.name())
}

const HELP: CompletedFlag = { spellings: ['--help', '-h'], about: 'print this help' }

function visible(command: Command): readonly Command[] {
  return command.commands
}

function completedFlag(option: Option): CompletedFlag {
  const spellings = [option.long, option.short].filter(spelling => spelling !== undefined)
  const takesValue = option.required || option.optional
  return {
    spellings,
    about: option.description,
    ...(takesValue && { value: choicesOf(option) ?? BY_FLAG[option.long ?? ''] ?? NOWHERE }),
  }
}

const OF_A_NODE = new Set(['gw nodes show', 'gw nodes drain', 'gw nodes uncordon', 'gw nodes revoke'])

/** Below `gw keys` an argument is the name of a key, except for `create`. */
function argumentWords(path: string, argument: Argument | undefined): Words {
  if (argument === undefined) return NOWHERE
  const chosen = choicesOf(argument) ?? BY_ARGUMENT[argument.name()]
  if (chosen) return chosen
  if (path.startsWith('gw keys ') && path !== 'gw keys create') return { from: 'store', kind: 'keys' }
  if (OF_A_NODE.has(path)) return { from: 'store', kind: 'nodes' }
  return path === 'gw probe' ? { from: 'store', kind: 'endpoints' } : NOWHERE
}

function choicesOf({ argChoices: choices }: { readonly argChoices?: string[] }): Words | undefined {
  return choices && { from: 'choices', choices }
}
