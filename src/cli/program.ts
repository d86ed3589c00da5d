import { type Command, Option } from 'commander'
import { FORMATS } from './format.ts'
import { everyCommand, newCommand } from './new-command.ts'
import type { BindHandler, MakeCommand } from './session.ts'
import { COLOUR_WHEN } from './style.ts'
import { gwVersion } from './version.ts'

export const DEFAULT_STORE = 'sqlite:./data/gw.db'
/** Width of the help without a terminal. */
const HELP_WIDTH = 100

/**
 * All commands, in the order of `gw --help`. Each is loaded on demand: loading all of them with their dependencies
 * would take half a second.
 */
const COMMANDS: Readonly<Record<string, () => Promise<MakeCommand>>> = {
  init: async () => (await import('./init.ts')).initCommand,
  validate: async () => (await import('./validate.ts')).validateCommand,
  test: async () => (await import('./test.ts')).testCommand,
  diff: async () => (await import('./diff.ts')).diffCommand,
  plan: async () => (await import('./plan.ts')).planCommand,
  apply: async () => (await import('./apply.ts')).applyCommand,
  history: async () => (await import('./history.ts')).historyCommand,
  show: async () => (await import('./show.ts')).showCommand,
  rollback: async () => (await import('./rollback.ts')).rollbackCommand,
  export: async () => (await import('./export.ts')).exportCommand,
  probe: async () => (await import('./probe.ts')).probeCommand,
  why: async () => (await import('./why.ts')).whyCommand,
  keys: async () => (await import('./keys.ts')).keysCommand,
  wallet: async () => (await import('./wallet.ts')).walletCommand,
  usage: async () => (await import('./usage-report.ts')).usageCommand,
  logs: async () => (await import('./logs.ts')).logsCommand,
  ledger: async () => (await import('./ledger.ts')).ledgerCommand,
  serve: async () => (await import('./serve.ts')).serveCommand,
  status: async () => (await import('./status.ts')).statusCommand,
  top: async () => (await import('./top.ts')).topCommand,
  backup: async () => (await import('./backup.ts')).backupCommand,
  restore: async () => (await import('./backup.ts')).restoreCommand,
  maintenance: async () => (await import('./maintenance.ts')).maintenanceCommand,
  users: async () => (await import('./users.ts')).usersCommand,
  tokens: async () => (await import('./tokens.ts')).tokensCommand,
  login: async () => (await import('./login.ts')).loginCommand,
  logout: async () => (await import('./login.ts')).logoutCommand,
  doctor: async () => (await import('./doctor.ts')).doctorCommand,
  import: async () => (await import('./import.ts')).importCommand,
  explain: async () => (await import('./explain.ts')).explainCommand,
  schema: async () => (await import('./schema.ts')).schemaCommand,
  completion: async () => (await import('./completion.ts')).completionCommand,
  'demo-upstream': async () => (await import('./demo-upstream.ts')).demoUpstreamCommand,
}

/** Commands that list all the others. */
const NEEDS_ALL = ['completion', 'help']

/** The output of commander, kept for `Output` to print. */
export interface Said {
  out: string
  err: string
}

/**
 * The command line, created for each run.
 *
 * @param words of the command line that may name a command; if none does, all commands are loaded.
 */
export async function makeProgram(
  bind: BindHandler,
  said: Said,
  width: number | undefined,
  words: readonly string[] = [],
): Promise<Command> {
  const program = newCommand('gw', 'One gateway in front of many model servers.', [
    'gw validate -c ./config',
    'gw diff     -c ./config',
    'gw apply    -c ./config',
  ])
    .version(gwVersion(), '-V, --version', 'print the version')
    .option(
      '-c, --config <path>',
      'a file, a directory, or - for stdin; may be repeated (default: ./gw.yaml or ./config)',
      collect,
    )
    .option('--store <url>', `the database; also GW_STORE (default: ${DEFAULT_STORE})`)
    .addOption(new Option('--format <format>', 'output format; github and junit are for CI').choices(FORMATS))
    .option('-y, --yes', 'do not ask for confirmation')
    .option('--no-input', 'never ask: fail, and name the flag to pass')
    .addOption(
      new Option('--color <when>', 'colours; auto: on a terminal without NO_COLOR').choices(COLOUR_WHEN),
    )
  for (const make of await wanted(words)) program.addCommand(make(bind, () => program))
  everyCommand(program, command => {
    if (command.commands.length > 0) command.helpCommand('help [command]', 'print the help of a command')
    command
      .exitOverride()
      .configureHelp({ showGlobalOptions: true })
      .configureOutput({
        writeOut: text => {
          said.out += text
        },
        writeErr: text => {
          said.err += text
        },
        getOutHelpWidth: () => width ?? HELP_WIDTH,
        getErrHelpWidth: () => width ?? HELP_WIDTH,
        getOutHasColors: () => false,
        getErrHasColors: () => false,
      })
  })
  return program
}

function collect(path: string, before: readonly string[] = []): readonly string[] {
  return [...before, path]
}

/** All named commands: the value of a flag may look like a command, too. */
function wanted(words: readonly string[]): Promise<readonly MakeCommand[]> {
  const named = Object.keys(COMMANDS).filter(name => words.includes(name))
  const all = named.length === 0 || NEEDS_ALL.some(name => words.includes(name))
  return Promise.all(
    (all ? Object.keys(COMMANDS) : named).map(name => (COMMANDS[name] as () => Promise<MakeCommand>)()),
  )
}
