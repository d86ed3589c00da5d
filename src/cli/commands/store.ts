import type { Command } from 'commander'
import { EXIT } from '../../base/catalogue/command.ts'
import { copyToEngine } from '../../services/store-copy.ts'
import { newCommand } from '../new-command.ts'
import { progressLine } from '../output/progress.ts'
import { appPorts, type BindHandler } from '../session.ts'

/** `gw store`: a store as a whole. */
export function storeCommand(bind: BindHandler): Command {
  return newCommand('store', 'Copy a store to another database.', [
    'gw store copy sqlite:./data/gw.db postgres://gw@db.example.com/gw',
  ]).addCommand(copyCommand(bind))
}

function copyCommand(bind: BindHandler): Command {
  return newCommand(
    'copy',
    'Copy all of a store from SQLite to PostgreSQL, or back, while no gateway serves it.',
    [
      'gw store copy sqlite:./data/gw.db postgres://gw@db.example.com/gw   # the password from PGPASSWORD',
      'gw store copy postgres://gw@db.example.com/gw sqlite:./data/gw.db --format json',
    ],
  )
    .argument('<from>', 'the store to copy')
    .argument('<to>', 'a file that does not exist, or an empty database')
    .addHelpText(
      'after',
      [
        '',
        'All of it is copied in one transaction, and read again and compared before it stands; then the ledger is added up.',
        'Sessions and tokens stay valid. The master key of credentials that were set over REST is not in the store:',
        'beside PostgreSQL, GW_MASTER_KEY must have what gw.db.key has.',
      ].join('\n'),
    )
    .action(
      bind(async (session, [from = '', to = '']) => {
        const { io, out, signal } = session
        signal.throwIfAborted()
        const progress = progressLine(io)
        try {
          const { revision, rows } = await copyToEngine(from, to, appPorts(session), (table, count) =>
            progress.show(`Copying ${table}: ${count} rows …`),
          )
          progress.clear()
          out.result({
            text: () =>
              `Copied revision ${revision}, ${rows} rows: both stores read the same, and the ledger adds up.\n`,
            json: () => ({ revision, rows }),
          })
          return EXIT.done
        } finally {
          progress.clear()
        }
      }),
    )
}
