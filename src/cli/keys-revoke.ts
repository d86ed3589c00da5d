import type { Command } from 'commander'
import { revokeKey } from '../app/keys.ts'
import { pluralize } from '../app/pluralize.ts'
import { EXIT } from '../base/catalogue/command.ts'
import { newCommand } from './new-command.ts'
import { appPorts, type BindHandler } from './session.ts'

/** `gw keys revoke`: asks nothing, because whoever types it is in a hurry and a new secret can always be minted. */
export function keysRevokeCommand(bind: BindHandler): Command {
  return newCommand('revoke', 'End every secret of a key at once, whatever its configuration says.', [
    'gw keys revoke my-app         # an incident; gw keys issue my-app mints a new secret',
  ])
    .argument('<name>', 'the key')
    .action(
      bind(async (session, [name = '']) => {
        const { secrets, held } = await revokeKey(name, session.flags.store, appPorts(session))
        session.out.result({
          text: () => told(name, secrets, held),
          json: () => ({ key: name, revoked: secrets, disabled: held }),
        })
        return EXIT.done
      }),
    )
}

function told(name: string, secrets: number, held: boolean): string {
  if (held) {
    return (
      `Key ${name} is disabled: its secret is brought along by the configuration, and ends there.\n` +
      `Replace it and apply, then \`gw keys enable ${name}\`.\n`
    )
  }
  if (secrets === 0) return `Key ${name} had no secret that works.\n`
  return `Key ${name}: ${pluralize(secrets, 'secret')} revoked. \`gw keys issue ${name}\` mints a new one.\n`
}
