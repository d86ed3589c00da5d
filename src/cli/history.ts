import type { Command } from 'commander'
import { listRevisions } from '../app/history.ts'
import { EXIT } from '../base/catalogue/command.ts'
import { revisionToJson } from '../changes/revision-json.ts'
import { historyToText } from './history-text.ts'
import { newCommand } from './new-command.ts'
import { countArgument } from './numbers.ts'
import { appPorts, type BindHandler } from './session.ts'

const LIMIT = 20

/** `gw history`: every revision, whoever made it, by files, by hand or over REST. */
export function historyCommand(bind: BindHandler): Command {
  return newCommand('history', 'List the revisions: when, by whom, from where, and how much they changed.', [
    'gw history',
    'gw history --limit 100 --format json',
    'gw show 12        # what one of them changed, field by field',
    'gw rollback 11    # make an earlier one stand again',
  ])
    .option('--limit <n>', `at most so many (default: ${LIMIT})`, countArgument)
    .addHelpText('after', '\nA star behind a commit: the files that were applied differed from it.')
    .action(
      bind<{ limit?: number }>(async (session, _args, { limit = LIMIT }) => {
        const { out, flags } = session
        const revisions = await listRevisions(limit, flags.store, appPorts(session))
        if (revisions.length === 0) out.info('No revisions yet: nothing was ever applied.')
        out.result({
          text: () => (revisions.length === 0 ? '' : historyToText(revisions, out.style, out.width)),
          json: () => revisions.map(revisionToJson),
        })
        return EXIT.done
      }),
    )
}
