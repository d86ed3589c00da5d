import type { Command } from 'commander'
import { EXIT } from '../../base/catalogue/command.ts'
import { migrateStore } from '../../services/migrate.ts'
import { newCommand } from '../new-command.ts'
import { appPorts, type BindHandler } from '../session.ts'

/** `gw migrate`: what every command that writes does by itself, before the gateways of a new version start. */
export function migrateCommand(bind: BindHandler): Command {
  return newCommand('migrate', 'Bring the store up to date for this version of gw, or create it.', [
    'gw migrate',
    'gw migrate --store postgres://gw@db.example.com/gw   # once, before the gateways of a new version',
  ])
    .addHelpText(
      'after',
      [
        '',
        'Commands that write, and `gw serve`, do the same when they open the store. Of several at once one converts it,',
        'and the others wait.',
      ].join('\n'),
    )
    .action(
      bind(async session => {
        const { flags, out, signal } = session
        signal.throwIfAborted()
        const { migrations, revision } = await migrateStore(flags.store, appPorts(session))
        const converted = migrations.length > 0 ? `Applied ${migrations.join(', ')}. ` : ''
        out.result({
          text: () => `${converted}The store is up to date, at revision ${revision}.\n`,
          json: () => ({ migrations, revision }),
        })
        return EXIT.done
      }),
    )
}
