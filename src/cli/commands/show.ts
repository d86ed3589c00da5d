import type { Command } from 'commander'
import { CommandError, EXIT } from '../../base/catalogue/command.ts'
import { changesToJson } from '../../services/changes/plan-json.ts'
import { revisionToJson } from '../../services/changes/revision-json.ts'
import { exportRevision, showRevision } from '../../services/history.ts'
import { changesWithoutDefaults } from '../../services/written-fields.ts'
import { newCommand } from '../new-command.ts'
import { revisionToText } from '../output/history-text.ts'
import { changesToText } from '../output/plan-text.ts'
import { revisionArgument } from '../revision-argument.ts'
import { appPorts, type BindHandler } from '../session.ts'

interface ShowOptions {
  readonly yaml?: true
  readonly set?: string
}

/** `gw show`: the changes of one revision, or its configuration. */
export function showCommand(bind: BindHandler): Command {
  return newCommand('show', 'Show the changes of a revision, field by field.', [
    'gw show 12',
    'gw show 12 --yaml > then.yaml   # its configuration',
  ])
    .argument('<revision>', 'a number from `gw history`')
    .option('--yaml', 'the configuration of that revision, as `gw export` prints it')
    .option('--set <name>', 'with --yaml: the set (default: the only one)')
    .action(
      bind<ShowOptions>(async (session, [number], { yaml, set }) => {
        const { out, flags } = session
        const id = revisionArgument(number)
        const ports = appPorts(session)
        if (yaml) {
          const exported = await exportRevision(id, set, flags.store, ports)
          out.result({ text: () => exported.yaml, json: () => exported.document })
          return EXIT.done
        }
        if (set !== undefined) throw new CommandError('usage', '`--set` needs `--yaml`.')
        const { revision, changes, resources } = await showRevision(id, flags.store, ports)
        out.result({
          text: () => {
            const text = changesToText(changesWithoutDefaults(changes, resources), out.style)
            return `${revisionToText(revision, out.style)}\n${text === '' ? 'No field changed.' : text}\n`
          },
          json: () => ({ ...revisionToJson(revision), changes: changesToJson(changes) }),
        })
        return EXIT.done
      }),
    )
}
