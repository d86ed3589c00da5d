import type { Command } from 'commander'
import { EXIT } from '../../base/catalogue/command.ts'
import { pluralize } from '../../base/pluralize.ts'
import type { Tree } from '../../config/types.ts'
import { validateConfiguration, validToJson } from '../../services/configuration.ts'
import { ConfigurationInvalid } from '../../services/invalid.ts'
import { configPaths } from '../config-paths.ts'
import { newCommand } from '../new-command.ts'
import { problemsToText } from '../output/problems.ts'
import { appPorts, type BindHandler } from '../session.ts'

/** `gw validate`: checks files. It opens no store and no socket, and reads no secret. */
export function validateCommand(bind: BindHandler): Command {
  return newCommand('validate', 'Check configuration files, offline and without side effects.', [
    'gw validate -c ./config',
    'gw validate -c ./config --format github   # annotates a pull request',
  ]).action(
    bind(
      async session => {
        const { out } = session
        try {
          const { tree, warnings } = await validateConfiguration(configPaths(session), appPorts(session))
          out.print(problemsToText(warnings, out.format, out.style))
          out.result({
            text: () => `Valid: ${census(tree)}.\n`,
            json: () => validToJson({ tree, warnings }),
          })
          return EXIT.done
        } catch (error) {
          // The problems are the result of this command, so they go to stdout; the verdict goes to stderr.
          if (!(error instanceof ConfigurationInvalid)) throw error
          out.print(problemsToText(error.problems, out.format, out.style))
          return out.fail(error, 'detailed')
        }
      },
      ['github'],
    ),
  )
}

function census(tree: Tree): string {
  return `${pluralize(tree.resources.length, 'resource')} in ${pluralize(tree.files.length, 'file')}, set ${tree.set}`
}
