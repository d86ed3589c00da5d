import type { Command } from 'commander'
import { EXIT } from '../../base/catalogue/command.ts'
import { pluralize } from '../../base/pluralize.ts'
import { revokeKey } from '../../services/keys.ts'
import { newCommand } from '../new-command.ts'
import { appPorts, type BindHandler } from '../session.ts'

/** `gw keys revoke`: without confirmation, because incidents are urgent and a new secret can always be issued. */
export function keysRevokeCommand(bind: BindHandler): Command {
  return newCommand('revoke', 'Revoke every secret of a key at once, regardless of its configuration.', [
    'gw keys revoke my-app         # an incident; gw keys issue my-app generates a new secret',
  ])
    .argument('<name>', 'the key')
    .action(
      bind(async (session, [name = '']) => {
        const { secrets, held } = await revokeKey(name, session.flags.store, appPorts(session))
        session.out.result({
          text: () => revocationText(name, secrets, held),
          json: () => ({ key: name, revoked: secrets, disabled: held }),
        })
        return EXIT.done
      }),
    )
}

function revocationText(name: string, secrets: number, held: boolean): string {
  if (held) {
    return (
      `Key ${name} is disabled: its secret is defined in the configuration.\n` +
      `Replace it there and apply, then \`gw keys enable ${name}\`.\n`
    )
  }
  if (secrets === 0) return `Key ${name} had no active secret.\n`
  return `Key ${name}: ${pluralize(secrets, 'secret')} revoked. \`gw keys issue ${name}\` generates a new one.\n`
}
