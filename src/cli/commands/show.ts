import type { Command } from 'commander'
import { CommandError, EXIT } from '../../base/catalogue/command.ts'
import { changesWithoutDefaults } from '../../services/changes/fields.ts'
import { changesToJson } from '../../services/changes/plan-json.ts'
import { exportRevision, showRevision } from '../../services/history.ts'
import { revisionArgument } from '../arguments.ts'
import { inStore } from '../in-store.ts'
import { newCommand } from '../new-command.ts'
import { revisionToText } from '../output/history-text.ts'
import { changesToText } from '../output/plan-text.ts'
import type { BindHandler } from '../session.ts'

interface ShowOptions {
  readonly yaml?: true
  readonly set?: string
  readonly since?: string
}

/** `gw show`: the changes of one revision, or its configuration. */
export function showCommand(bind: BindHandler): Command {
  return newCommand('show', 'Show the changes of a revision, field by field.', [
    'gw show 12',
    'gw show 12 --since 9   # all that changed from 9 to 12',
    'gw show 12 --yaml > then.yaml   # its configuration',
  ])
    .argument('<revision>', 'a number from `gw history`')
    .option('--since <revision>', 'the changes since this revision (default: the one before)')
    .option('--yaml', 'the configuration of that revision, as `gw export` prints it')
    .option('--set <name>', 'with --yaml: the set (default: the only one)')
    .action(
      bind<ShowOptions>(async (session, [number], { yaml, set, since: other }) => {
        const { out } = session
        const id = revisionArgument(number)
        if (yaml) {
          const exported = await inStore(session, 'read', context => exportRevision(context, { id, set }))
          out.result({ text: () => exported.yaml, json: () => exported.document })
          return EXIT.done
        }
        if (set !== undefined) throw new CommandError('usage', '`--set` needs `--yaml`.')
        const since = other === undefined ? undefined : revisionArgument(other)
        const { revision, changes, resources } = await inStore(session, 'read', context =>
          showRevision(context, { id, since }),
        )
        out.result({
          text: () => {
            const text = changesToText(changesWithoutDefaults(changes, resources), out.style)
            return `${revisionToText(revision, out.style)}\n${text === '' ? 'No field changed.' : text}\n`
          },
          json: () => ({
            ...revision,
            ...(since !== undefined && { since }),
            changes: changesToJson(changes),
          }),
        })
        return EXIT.done
      }),
    )
}
