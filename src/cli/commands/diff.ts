import type { Command } from 'commander'
import { EXIT } from '../../base/catalogue/command.ts'
import { withoutDefaults } from '../../services/changes/fields.ts'
import { planToJson } from '../../services/changes/plan-json.ts'
import { planConfiguration } from '../../services/configuration.ts'
import { adoptOption } from '../arguments.ts'
import { configPaths } from '../config-paths.ts'
import { inCommandStore } from '../in-store.ts'
import { newCommand } from '../new-command.ts'
import { printWarnings } from '../output/output.ts'
import { planToGithub, planToText } from '../output/plan-text.ts'
import { appPorts, type BindHandler } from '../session.ts'

interface Options {
  readonly exitCode?: true
  readonly adopt?: readonly string[]
}

/** `gw diff`: shows the plan of `gw apply` without applying it. */
export function diffCommand(bind: BindHandler): Command {
  return newCommand('diff', 'Show what apply would change, field by field.', [
    'gw diff -c ./config',
    'gw diff -c ./config --format github    # annotates a pull request',
    'gw export | gw diff -c - --exit-code   # 0: the store matches the export',
  ])
    .option('--exit-code', 'end with 2 if there are changes')
    .addOption(adoptOption())
    .action(
      bind<Options>(
        async (session, _args, options) => {
          const { out } = session
          const { plan, tree, warnings, radius } = await inCommandStore(session, 'read', stored =>
            planConfiguration(configPaths(session), stored, appPorts(session), {
              adopt: options.adopt ?? [],
            }),
          )
          printWarnings(out, warnings)
          out.result({
            text: () => planToText(withoutDefaults(plan, tree), out.style, radius),
            json: () => planToJson(plan, radius),
            github: () => planToGithub(withoutDefaults(plan, tree), radius, tree.resources),
          })
          return options.exitCode && plan.changes.length > 0 ? EXIT.changes : EXIT.done
        },
        ['github'],
      ),
    )
}
