import type { Command } from 'commander'
import { exportConfiguration } from '../app/configuration.ts'
import { EXIT } from '../base/catalogue/command.ts'
import { newCommand } from './new-command.ts'
import { appPorts, type BindHandler } from './session.ts'

/** `gw export`: the live state of a set as a configuration file. Secrets stay the references that they are. */
export function exportCommand(bind: BindHandler): Command {
  return newCommand('export', 'Print what the store holds as YAML.', [
    'gw export > gw.yaml',
    'gw export --set team-a',
  ])
    .option('--set <name>', 'what the tree of that name owns (default: the only one)')
    .action(
      bind<{ set?: string }>(async (session, _args, { set }) => {
        const { out, flags } = session
        const exported = await exportConfiguration(set, flags.store, appPorts(session))
        out.result({ text: () => exported.yaml, json: () => exported.document })
        return EXIT.done
      }),
    )
}
