import { relative, resolve } from 'node:path'
import type { Command } from 'commander'
import { CommandError, EXIT } from '../../base/catalogue/command.ts'
import { type ChosenUpstream, chosenUpstream } from '../../services/chosen-upstream.ts'
import { startFolder } from '../../services/starter.ts'
import { newCommand } from '../new-command.ts'
import type { BindHandler } from '../session.ts'

interface Options {
  readonly vendor?: string
  readonly model?: string
  readonly baseUrl?: string
  readonly prices?: boolean
}

/** `gw init`: writes a starter folder. */
export function initCommand(bind: BindHandler): Command {
  return newCommand(
    'init',
    'Write a configuration to start from, its tests, and a workflow that checks both.',
    [
      'gw init my-gateway',
      'gw init                # here; nothing is ever overwritten',
      'gw init my-gateway --vendor openai --model gpt-4o-mini --prices',
      'gw init my-gateway --vendor vllm --model qwen3 --base-url http://gpu-1:8000/v1',
    ],
  )
    .argument('[dir]', 'the folder; created if it does not exist', '.')
    .option('--vendor <id>', 'the upstream, by its id in docs/vendors.md (default: the demo upstream)')
    .option('--model <name>', 'the model of that vendor')
    .option('--base-url <url>', 'its address, if it differs from the table')
    .option('--prices', 'take the price of the model from the price list')
    .action(
      bind<Options>(async ({ io, out, signal }, [dir = '.'], options) => {
        signal.throwIfAborted()
        const folder = resolve(io.cwd, dir)
        const upstream = upstreamOf(options)
        const { files, ignoreStands } = await startFolder(folder, upstream)
        const here = relative(io.cwd, folder)
        out.result({
          text: () => files.map(file => `${here === '' ? file : `${here}/${file}`}\n`).join(''),
          json: () => ({ directory: folder, files: [...files] }),
        })
        if (ignoreStands) out.info('A .gitignore exists already: add data/ and .env to it.')
        const variable = upstream?.vendor.keyVariable
        const key = variable === undefined ? '' : `export ${variable}=…, `
        out.info(`Next: ${here === '' ? '' : `cd ${here}, then `}gw validate, gw test, ${key}gw apply.`)
        return EXIT.done
      }),
    )
}

function upstreamOf({ vendor, model, baseUrl, prices = false }: Options): ChosenUpstream | undefined {
  if (vendor !== undefined) {
    return chosenUpstream({
      vendor,
      prices,
      ...(model !== undefined && { model }),
      ...(baseUrl !== undefined && { baseUrl }),
    })
  }
  if (model === undefined && baseUrl === undefined && !prices) return undefined
  throw new CommandError('usage', '--model, --base-url and --prices need a vendor.', {
    hint: 'Name it with --vendor, such as --vendor openai.',
  })
}
