import type { Command } from 'commander'
import { EXIT } from '../../base/catalogue/command.ts'
import { deleteKey } from '../../services/keys.ts'
import { confirm } from '../confirm.ts'
import { newCommand } from '../new-command.ts'
import { keyToText } from '../output/key-text.ts'
import { appPorts, type BindHandler } from '../session.ts'

/** `gw keys delete`: for keys created by `gw keys create` or REST; others are removed from their file. */
export function keysDeleteCommand(bind: BindHandler): Command {
  return newCommand('delete', 'Delete a key that no file declares, with its secrets.', [
    'gw keys delete demo',
    'gw keys delete demo --yes',
  ])
    .argument('<name>', 'the key')
    .action(
      bind(async (session, [name = '']) => {
        const { out, flags } = session
        const revision = await deleteKey(name, flags.store, appPorts(session), async key => {
          if (!flags.yes) out.info(keyToText(key, out.infoStyle).trimEnd())
          await confirm(session, `Delete the key ${name}?`)
        })
        out.result({
          text: () => `Key ${name} deleted: revision ${revision}. Its usage stays in the ledger.\n`,
          json: () => ({ key: name, revision }),
        })
        return EXIT.done
      }),
    )
}
