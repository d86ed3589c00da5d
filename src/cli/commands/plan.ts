import type { Command } from 'commander'
import { CommandError, EXIT } from '../../base/catalogue/command.ts'
import { iso } from '../../base/iso.ts'
import { hasFewDeletes } from '../../services/changes/delete-guard.ts'
import { withoutDefaults } from '../../services/changes/fields.ts'
import { planToJson } from '../../services/changes/plan-json.ts'
import { type PlanWithImpact, planConfiguration } from '../../services/configuration.ts'
import { savePlan } from '../../services/saved-plan.ts'
import { adoptOption } from '../arguments.ts'
import { configPaths } from '../config-paths.ts'
import { inCommandStore } from '../in-store.ts'
import { newCommand } from '../new-command.ts'
import { printWarnings } from '../output/output.ts'
import { planToText } from '../output/plan-text.ts'
import { printable } from '../output/style.ts'
import { appPorts, type BindHandler } from '../session.ts'
import { durationArgument } from '../time-argument.ts'

interface PlanOptions {
  readonly output?: string
  readonly expires?: number
  readonly adopt?: readonly string[]
}

const DAY_MS = 86_400_000

/** `gw plan`: the plan of `gw apply`, saved to a file so that exactly this plan can be applied later. */
export function planCommand(bind: BindHandler): Command {
  return newCommand(
    'plan',
    'Show what apply would change and its effect on callers, and save the plan to be applied later.',
    [
      'gw plan -c ./config -o plan.json',
      'gw apply plan.json              # exactly that, or nothing: rejected after any other change',
      'gw plan -c ./config -o plan.json --expires 1h',
    ],
  )
    .option('-o, --output <file>', 'write the plan to this file, which only you may read')
    .option('--expires <duration>', 'how long the file is valid (default: 24h)', durationArgument)
    .addOption(adoptOption())
    .addHelpText(
      'after',
      [
        '',
        'The file contains the whole planned configuration, with references to secrets and never a secret. Its digest',
        'detects manual edits. It is not a signature: a user who can run `gw apply` can change the store anyway.',
      ].join('\n'),
    )
    .action(
      bind<PlanOptions>(async (session, _args, { output, expires, adopt = [] }) => {
        const { out } = session
        if (expires !== undefined && output === undefined) {
          throw new CommandError('usage', '`--expires` belongs to a plan file, and none is written.', {
            hint: 'Name the file: `-o plan.json`.',
          })
        }
        const paths = configPaths(session)
        const ports = appPorts(session)
        const made: PlanWithImpact & { readonly expiresAtMs?: number } = await inCommandStore(
          session,
          'read',
          stored =>
            output === undefined
              ? planConfiguration(paths, stored, ports, { adopt })
              : savePlan(paths, stored, ports, { adopt, file: output, expiresMs: expires ?? DAY_MS }),
        )
        const { plan, tree, warnings, radius } = made
        printWarnings(out, warnings)
        const until = made.expiresAtMs === undefined ? undefined : iso(made.expiresAtMs)
        out.result({
          text: () => {
            const text = planToText(withoutDefaults(plan, tree), out.style, radius)
            if (output === undefined || until === undefined) return text
            const allowance = hasFewDeletes(plan) ? '' : ` --allow-deletes ${plan.counts.delete}`
            return `${text}\nWrote ${printable(output)}, valid until ${until}: \`gw apply ${printable(output)}${allowance}\`\n`
          },
          json: () => ({
            ...planToJson(plan, radius),
            ...(output !== undefined && until !== undefined && { file: output, expires_at: until }),
          }),
        })
        return EXIT.done
      }),
    )
}
