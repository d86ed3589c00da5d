import { type Command, Option } from 'commander'
import { applyCommand } from './apply.ts'
import { completionCommand } from './completion.ts'
import { demoUpstreamCommand } from './demo-upstream.ts'
import { diffCommand } from './diff.ts'
import { doctorCommand } from './doctor.ts'
import { explainCommand } from './explain.ts'
import { exportCommand } from './export.ts'
import { FORMATS } from './format.ts'
import { historyCommand } from './history.ts'
import { importCommand } from './import.ts'
import { initCommand } from './init.ts'
import { keysCommand } from './keys.ts'
import { ledgerCommand } from './ledger.ts'
import { logsCommand } from './logs.ts'
import { maintenanceCommand } from './maintenance.ts'
import { planCommand } from './plan.ts'
import { probeCommand } from './probe.ts'
import { rollbackCommand } from './rollback.ts'
import { schemaCommand } from './schema.ts'
import { serveCommand } from './serve.ts'
import type { Bind, MakeCommand } from './session.ts'
import { showCommand } from './show.ts'
import { statusCommand } from './status.ts'
import { COLOUR_WHEN } from './style.ts'
import { testCommand } from './test.ts'
import { topCommand } from './top.ts'
import { usageCommand } from './usage-report.ts'
import { usersCommand } from './users.ts'
import { validateCommand } from './validate.ts'
import { everyCommand, verb } from './verb.ts'
import { gwVersion } from './version.ts'
import { walletCommand } from './wallet.ts'
import { whyCommand } from './why.ts'

export const DEFAULT_STORE = 'sqlite:./data/gw.db'
/** Columns of the help where there is no terminal to ask. */
const HELP_WIDTH = 100

/** Every verb, in the order in which `gw --help` lists them. */
const VERBS: readonly MakeCommand[] = [
  initCommand,
  validateCommand,
  testCommand,
  diffCommand,
  planCommand,
  applyCommand,
  historyCommand,
  showCommand,
  rollbackCommand,
  exportCommand,
  probeCommand,
  whyCommand,
  keysCommand,
  walletCommand,
  usageCommand,
  logsCommand,
  ledgerCommand,
  serveCommand,
  statusCommand,
  topCommand,
  maintenanceCommand,
  usersCommand,
  doctorCommand,
  importCommand,
  explainCommand,
  schemaCommand,
  completionCommand,
  demoUpstreamCommand,
]

/** What commander wrote, kept for `Output` to show by its own rules. */
export interface Said {
  out: string
  err: string
}

/** The whole command line, made anew for each run. */
export function makeProgram(bind: Bind, said: Said, width: number | undefined): Command {
  const program = verb('gw', 'One door in front of many model servers.', [
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
    .addOption(new Option('--format <format>', 'how to answer; github and junit are for CI').choices(FORMATS))
    .option('-y, --yes', 'change without asking')
    .option('--no-input', 'never ask: fail, and name the flag to pass')
    .addOption(
      new Option('--color <when>', 'colours; auto: on a terminal without NO_COLOR').choices(COLOUR_WHEN),
    )
  for (const make of VERBS) program.addCommand(make(bind, () => program))
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
