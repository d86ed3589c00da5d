import type { Command } from 'commander'
import { EXIT } from '../../base/catalogue/command.ts'
import { exportConfiguration } from '../../services/configuration.ts'
import { inStore } from '../in-store.ts'
import { newCommand } from '../new-command.ts'
import type { BindHandler } from '../session.ts'

/** `gw export`: the live state of a set as a configuration file, with references instead of secrets. */
export function exportCommand(bind: BindHandler): Command {
  return newCommand('export', 'Print the configuration in the store as YAML.', [
    'gw export > gw.yaml',
    'gw export --set team-a',
  ])
    .option('--set <name>', 'the set to export (default: the only one)')
    .action(
      bind<{ set?: string }>(async (session, _args, { set }) => {
        const { out } = session
        const exported = await inStore(session, 'read', context => exportConfiguration(context, { set }))
        out.result({ text: () => exported.yaml, json: () => exported.document })
        return EXIT.done
      }),
    )
}
