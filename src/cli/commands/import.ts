import { resolve } from 'node:path'
import type { Command } from 'commander'
import { EXIT } from '../../base/catalogue/command.ts'
import { pluralize } from '../../base/pluralize.ts'
import type { Place } from '../../config/types.ts'
import type { Json } from '../../schema/kinds.ts'
import {
  IMPORTED_KEY,
  IMPORTED_TENANT,
  type Imported,
  importedFromLitellm,
} from '../../services/litellm/import.ts'
import { CONFIG_FILE, CONFIG_FOLDER, writeNewFiles } from '../../services/new-files.ts'
import { newCommand } from '../new-command.ts'
import { printable, type Style } from '../output/style.ts'
import { appPorts, type BindHandler } from '../session.ts'

/** `gw import`: converts configurations of other gateways. */
export function importCommand(bind: BindHandler): Command {
  return newCommand('import', 'Convert the configuration of another gateway.', [
    'gw import litellm config.yaml -o my-gateway',
  ]).addCommand(litellmCommand(bind))
}

function litellmCommand(bind: BindHandler): Command {
  return newCommand('litellm', 'Convert a config.yaml of the LiteLLM proxy.', [
    'gw import litellm config.yaml                  # prints it; unconverted fields go to stderr',
    'gw import litellm config.yaml -o my-gateway    # writes my-gateway/gw.yaml, and prints unconverted fields',
  ])
    .argument('<file>', 'the config.yaml, or - for stdin')
    .option('-o, --output <dir>', 'the directory to write gw.yaml to; nothing is overwritten')
    .option('--prices', 'take missing prices from the price list (docs/prices.md)')
    .action(
      bind<{ output?: string; prices?: boolean }>(async (session, [file = ''], options) => {
        const { output: folder, prices = false } = options
        const { out, io } = session
        const path = file === '-' ? file : resolve(io.cwd, file)
        const imported = await importedFromLitellm(path, appPorts(session), { prices })
        if (folder === undefined) {
          for (const line of importReport(file, imported, out.infoStyle)) out.info(line)
          out.result({ text: () => imported.yaml, json: () => toJson(file, imported) })
          return EXIT.done
        }
        session.signal.throwIfAborted()
        await writeNewFiles(
          resolve(io.cwd, folder),
          [{ path: CONFIG_FILE, content: imported.yaml }],
          CONFIG_FOLDER,
        )
        out.result({
          text: () => [...importReport(file, imported, out.style), ''].join('\n'),
          json: () => ({ written: `${folder}/${CONFIG_FILE}`, ...toJson(file, imported) }),
        })
        out.info(
          `Wrote ${folder}/${CONFIG_FILE}. Next: gw validate -c ${folder}, gw apply -c ${folder}, gw keys issue ${IMPORTED_KEY}.`,
        )
        return EXIT.done
      }),
    )
}

function importReport(file: string, { resources, left, notes }: Imported, style: Style): readonly string[] {
  const census = (['endpoint', 'publication', 'binding'] as const)
    .map(kind => pluralize(resources.filter(resource => resource.kind === kind).length, kind))
    .join(', ')
  return [
    `Converted: ${census}.`,
    `Added: tenant ${IMPORTED_TENANT} and key ${IMPORTED_KEY}, so that calls work at once.`,
    ...notes.map(({ place, text }) => `${style.changed(at(file, place))}  ${printable(text)}`),
    ...(left.length === 0 ? [] : [`Not converted: ${pluralize(left.length, 'field')}.`]),
    ...left.map(
      ({ place, field, why }) => `${style.removed(at(file, place))}  ${printable(field)}: ${printable(why)}`,
    ),
  ]
}

/** The path as given on the command line, not the resolved one. */
function at(file: string, { line }: Place): string {
  return `${printable(file === '-' ? '<stdin>' : file)}:${line}`
}

function toJson(
  file: string,
  { yaml, resources, left, notes }: Imported,
): { readonly [member: string]: Json } {
  const position = ({ line, column }: Place) => ({ file, line, column })
  return {
    yaml,
    resources: resources.length,
    notes: notes.map(({ place, text }) => ({ ...position(place), text })),
    not_carried: left.map(({ place, field, why }) => ({ ...position(place), field, why })),
  }
}
