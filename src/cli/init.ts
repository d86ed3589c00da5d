import { relative, resolve } from 'node:path'
import type { Command } from 'commander'
import { startFolder } from '../app/starter.ts'
import { EXIT } from '../base/catalogue/command.ts'
import type { Bind } from './session.ts'
import { verb } from './verb.ts'

/** `gw init`: a folder to start from. */
export function initCommand(bind: Bind): Command {
  return verb('init', 'Write a configuration to start from, its tests, and a workflow that checks both.', [
    'gw init my-gateway',
    'gw init                # here; nothing is ever overwritten',
  ])
    .argument('[dir]', 'the folder; made where it is missing', '.')
    .action(
      bind(async ({ io, out, signal }, [dir = '.']) => {
        signal.throwIfAborted()
        const folder = resolve(io.cwd, dir)
        const { files, ignoreStands } = await startFolder(folder)
        const here = relative(io.cwd, folder)
        out.result({
          text: () => files.map(file => `${here === '' ? file : `${here}/${file}`}\n`).join(''),
          json: () => ({ directory: folder, files: [...files] }),
        })
        if (ignoreStands) out.talk('There is a .gitignore already: let it name data/ and .env.')
        out.talk(`Next: ${here === '' ? '' : `cd ${here}, then `}gw validate, gw test, gw apply.`)
        return EXIT.done
      }),
    )
}
