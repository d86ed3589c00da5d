import type { Command } from 'commander'
import { EXIT } from '../../base/catalogue/command.ts'
import { listRevisions } from '../../services/history.ts'
import { countArgument } from '../arguments.ts'
import { inStore } from '../in-store.ts'
import { newCommand } from '../new-command.ts'
import { historyToText } from '../output/history-text.ts'
import { printPage } from '../output/output.ts'
import type { BindHandler } from '../session.ts'

const LIMIT = 20

/** `gw history`: all revisions, from files, the command line and REST. */
export function historyCommand(bind: BindHandler): Command {
  return newCommand('history', 'List the revisions: time, author, origin, and number of changes.', [
    'gw history',
    'gw history --limit 100 --format json',
    'gw show 12        # the changes of one of them, field by field',
    'gw rollback 11    # return to an earlier one',
  ])
    .option('--limit <n>', `at most this many (default: ${LIMIT})`, countArgument)
    .addHelpText('after', '\nA star after a commit: the applied files differed from it.')
    .action(
      bind<{ limit?: number }>(async (session, _args, { limit = LIMIT }) => {
        const { out } = session
        const page = await inStore(session, 'read', context => listRevisions(context, { limit }))
        printPage(out, page, 'No revisions yet: nothing was ever applied.', revisions =>
          historyToText(revisions, out.style, out.width),
        )
        return EXIT.done
      }),
    )
}
