import type { Command } from 'commander'
import { EXIT } from '../../base/catalogue/command.ts'
import { type KeyFilters, listKeys } from '../../services/keys.ts'
import { newCommand } from '../new-command.ts'
import { keysToText, keyToJson } from '../output/key-text.ts'
import { appPorts, type BindHandler } from '../session.ts'
import { durationArgument } from '../time-argument.ts'

interface Options {
  readonly expiring?: number
  readonly unused?: number
}

/** `gw keys list`. */
export function keysListCommand(bind: BindHandler): Command {
  return newCommand('list', 'List the keys and whether they work.', [
    'gw keys list',
    'gw keys list --expiring 14d   # those that expire within two weeks',
    'gw keys list --unused 30d     # those without a call for a month',
    'gw keys list --format json',
  ])
    .option('--expiring <duration>', 'only those that expire within this time', durationArgument)
    .option('--unused <duration>', 'only those without a billed call for this long', durationArgument)
    .action(
      bind<Options>(async (session, _args, { expiring, unused }) => {
        const { out } = session
        const filters: KeyFilters = {
          ...(expiring !== undefined && { expiringMs: expiring }),
          ...(unused !== undefined && { unusedMs: unused }),
        }
        const isFiltered = expiring !== undefined || unused !== undefined
        const keys = await listKeys(filters, session.flags.store, appPorts(session))
        if (keys.length === 0) {
          out.info(isFiltered ? 'No such keys.' : 'No keys yet: declare one under `keys` and apply.')
        }
        out.result({
          text: () =>
            keys.length === 0
              ? ''
              : keysToText(keys, session.io.clock.nowMs(), out.style, out.width, {
                  withExpiry: expiring !== undefined,
                }),
          json: () => keys.map(key => keyToJson(key)),
        })
        return EXIT.done
      }),
    )
}
