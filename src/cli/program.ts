import { type Command, Option } from 'commander'
import { FORMATS } from './format.ts'
import { everyCommand, newCommand } from './new-command.ts'
import { COLOUR_WHEN } from './output/style.ts'
import type { BindHandler, MakeCommand } from './session.ts'
import { gwVersion } from './version.ts'

export const DEFAULT_STORE = 'sqlite:./data/gw.db'
/** Width of the help without a terminal. */
const HELP_WIDTH = 100

/**
 * All commands, in the order of `gw --help`. Each is loaded on demand: loading all of them with their dependencies
 * would take half a second.
 */
const COMMANDS: Readonly<Record<string, () => Promise<MakeCommand>>> = {
  init: async () => (await import('./commands/init.ts')).initCommand,
  validate: async () => (await import('./commands/validate.ts')).validateCommand,
  test: async () => (await import('./commands/test.ts')).testCommand,
  diff: async () => (await import('./commands/diff.ts')).diffCommand,
  plan: async () => (await import('./commands/plan.ts')).planCommand,
  apply: async () => (await import('./commands/apply.ts')).applyCommand,
  history: async () => (await import('./commands/history.ts')).historyCommand,
  show: async () => (await import('./commands/show.ts')).showCommand,
  rollback: async () => (await import('./commands/rollback.ts')).rollbackCommand,
  export: async () => (await import('./commands/export.ts')).exportCommand,
  probe: async () => (await import('./commands/probe.ts')).probeCommand,
  why: async () => (await import('./commands/why.ts')).whyCommand,
  keys: async () => (await import('./commands/keys.ts')).keysCommand,
  wallet: async () => (await import('./commands/wallet.ts')).walletCommand,
  usage: async () => (await import('./commands/usage.ts')).usageCommand,
  logs: async () => (await import('./commands/logs.ts')).logsCommand,
  ledger: async () => (await import('./commands/ledger.ts')).ledgerCommand,
  serve: async () => (await import('./commands/serve.ts')).serveCommand,
  restart: async () => (await import('./commands/restart.ts')).restartCommand,
  status: async () => (await import('./commands/status.ts')).statusCommand,
  gateways: async () => (await import('./commands/gateways.ts')).gatewaysCommand,
  top: async () => (await import('./commands/top.ts')).topCommand,
  backup: async () => (await import('./commands/backup.ts')).backupCommand,
  restore: async () => (await import('./commands/backup.ts')).restoreCommand,
  store: async () => (await import('./commands/store.ts')).storeCommand,
  migrate: async () => (await import('./commands/migrate.ts')).migrateCommand,
  maintenance: async () => (await import('./commands/maintenance.ts')).maintenanceCommand,
  nodes: async () => (await import('./commands/nodes.ts')).nodesCommand,
  node: async () => (await import('./commands/node.ts')).nodeCommand,
  users: async () => (await import('./commands/users.ts')).usersCommand,
  tokens: async () => (await import('./commands/tokens.ts')).tokensCommand,
  login: async () => (await import('./commands/login.ts')).loginCommand,
  logout: async () => (await import('./commands/login.ts')).logoutCommand,
  doctor: async () => (await import('./commands/doctor.ts')).doctorCommand,
  import: async () => (await import('./commands/import.ts')).importCommand,
  explain: async () => (await import('./commands/explain.ts')).explainCommand,
  schema: async () => (await import('./commands/schema.ts')).schemaCommand,
  completion: async () => (await import('./commands/completion.ts')).completionCommand,
  'demo-upstream': async () => (await import('./commands/demo-upstream.ts')).demoUpstreamCommand,
}

/** Commands that list all the others. */
const NEEDS_ALL = ['completion', 'help']

/** The output of commander, kept for `Output` to print. */
export interface CommanderOutput {
  out: string
  err: string
}

/**
 * The command line, created for each run.
 *
 * @param words of the command line that may name a command; if none does, all commands are loaded, except for the version.
 */
export async function makeProgram(
  bind: BindHandler,
  said: CommanderOutput,
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
    .option(
      '--store <url>',
      `the database, sqlite:FILE or postgres://…; also GW_STORE (default: ${DEFAULT_STORE})`,
    )
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

/** All named commands: the value of a flag may look like a command, too. The version needs none. */
async function wanted(words: readonly string[]): Promise<readonly MakeCommand[]> {
  if (words[0] === '--version' || words[0] === '-V') return []
  const named = Object.keys(COMMANDS).filter(name => words.includes(name))
  const all = named.length === 0 || NEEDS_ALL.some(name => words.includes(name))
  return Promise.all(
    (all ? Object.keys(COMMANDS) : named).map(name => (COMMANDS[name] as () => Promise<MakeCommand>)()),
  )
}
