import type { Command } from 'commander'
import { CommandError, EXIT } from '../../base/catalogue/command.ts'
import { pluralize } from '../../base/pluralize.ts'
import type { Json } from '../../schema/kinds.ts'
import { assertFewDeletes } from '../../services/changes/delete-guard.ts'
import { withoutDefaults } from '../../services/changes/fields.ts'
import { planToJson } from '../../services/changes/plan-json.ts'
import {
  type ApplyResult,
  appliedToJson,
  applyConfiguration,
  type Planned,
  type PlanWithImpact,
  planConfiguration,
} from '../../services/configuration.ts'
import type { ProbeOptions } from '../../services/probe-round.ts'
import { applyPlan, planOfFile } from '../../services/saved-plan.ts'
import { adoptOption, deletesArgument } from '../arguments.ts'
import { configPaths } from '../config-paths.ts'
import { confirm, expectAnswerable } from '../confirm.ts'
import { inCommandStore } from '../in-store.ts'
import { newCommand } from '../new-command.ts'
import { printWarnings } from '../output/output.ts'
import { planToText } from '../output/plan-text.ts'
import type { Style } from '../output/style.ts'
import { appPorts, type BindHandler, type Session } from '../session.ts'
import { addWaitOptions, awaitServed, servedText, type WaitFlag } from '../wait-served.ts'
import { PROBE_TIMEOUT_MS, timeoutArgument, withProgress } from './probe.ts'

interface ApplyOptions {
  readonly dryRun?: true
  readonly skipProbe?: true
  readonly timeout?: number
  readonly allowDeletes?: number
  readonly adopt?: readonly string[]
  readonly wait?: WaitFlag
}

/** `gw apply`: brings the store to the state of the files in one transaction, after the plan is shown and confirmed. */
export function applyCommand(bind: BindHandler): Command {
  const command = newCommand(
    'apply',
    'Bring the store to the state of the files, or of a plan, in one transaction.',
    [
      'gw apply -c ./config',
      'gw apply -c ./config --yes          # in CI, after a review of `gw diff`',
      'gw apply plan.json                  # exactly the plan of `gw plan -o plan.json`',
      'gw apply -c ./config --skip-probe',
    ],
  )
    .argument('[plan]', 'a file written by `gw plan -o`')
    .option('--dry-run', 'show the plan and stop: no probes, no writes (`gw probe -c` probes)')
    .option('--skip-probe', 'do not probe new and changed endpoints')
    .option('--timeout <duration>', 'for each probe (default: 10s)', timeoutArgument)
    .option(
      '--allow-deletes <n>',
      'allow this many deletions; by default at most 10, and more than 2 only up to a fifth of the set',
      deletesArgument,
    )
    .addOption(adoptOption())
  return addWaitOptions(command)
    .addHelpText(
      'after',
      [
        '',
        'Running gateways have 5 s to serve the revision. If one rejects it, the command reports the reason and ends with',
        '5: the revision is applied, and that gateway still serves the previous one.',
      ].join('\n'),
    )
    .action(bind<ApplyOptions>(handler))
}

async function handler(session: Session, [file]: readonly string[], options: ApplyOptions) {
  const { out } = session
  const { dryRun, skipProbe, timeout = PROBE_TIMEOUT_MS, wait } = options
  if (file !== undefined) expectPlanAlone(session, options)
  const paths = file === undefined ? configPaths(session) : []
  const ports = appPorts(session)
  const applyOptions = { adopt: options.adopt ?? [] }
  if (dryRun) {
    const planned = await inCommandStore(session, 'read', stored =>
      file === undefined
        ? planConfiguration(paths, stored, ports, applyOptions)
        : planOfFile(file, stored, ports),
    )
    printWarnings(out, planned.warnings)
    out.result({ text: () => shown(planned, out.style), json: () => dryRunToJson(planned) })
    return EXIT.done
  }
  const review = (ready: Planned) => agreement(session, ready)
  const previewOf = async (ready: PlanWithImpact) => preview(session, ready, options)
  const { result, gateways } = await inCommandStore(session, 'write', async stored => {
    const result = await withProgress(session, timeout, (probe: ProbeOptions): Promise<ApplyResult> => {
      const more = { ...applyOptions, preview: previewOf, ...(!skipProbe && { probe }) }
      return file === undefined
        ? applyConfiguration(paths, stored, ports, review, more)
        : applyPlan(file, stored, ports, review, more)
    })
    const { revision } = result.applied
    // Revision 0 is a store that does not exist yet.
    if (revision === 0) return { result }
    return { result, gateways: await awaitServed(session, await stored.required(), revision, wait) }
  })
  const { planned, probed, applied } = result
  const changed = planned.plan.changes.length > 0
  out.result({
    text: () => {
      const answered = probed.length > 0 ? `${pluralize(probed.length, 'probe')}: all ok.\n` : ''
      const done = changed
        ? `Applied: revision ${applied.revision}.\n`
        : `Nothing to do: revision ${applied.revision} stays.\n`
      return answered + done + servedText(gateways, wait)
    },
    json: () => ({ ...appliedToJson(result), ...(gateways !== undefined && { served_by: gateways }) }),
  })
  if (changed && out.format === 'text') {
    if (wait === false) out.info('`gw status` shows the revision that each gateway serves.')
    else if (gateways === 0 && wait === undefined)
      out.info('No gateway serves this store at the moment: `gw serve` starts one.')
  }
  return EXIT.done
}

/** Shows the plan; rejects it before any probe if it cannot be confirmed. */
function preview(session: Session, planned: PlanWithImpact, { allowDeletes }: ApplyOptions): void {
  const { out, flags } = session
  printWarnings(out, planned.warnings)
  out.print(shown(planned, out.style))
  if (planned.plan.changes.length === 0) return
  // The plan must be visible before it is confirmed: with JSON on stdout it goes to stderr as text.
  if (out.format === 'json' && !flags.yes) out.info(shown(planned, out.infoStyle).trimEnd())
  assertFewDeletes(planned.plan, allowDeletes)
  expectAnswerable(session)
}

async function agreement(session: Session, { plan }: Planned): Promise<void> {
  if (plan.changes.length > 0) await confirm(session, 'Apply these changes?')
}

/** A plan file already contains the files and the adoptions. @throws {CommandError} usage */
function expectPlanAlone({ flags }: Session, { adopt }: ApplyOptions): void {
  if (flags.config.length === 0 && adopt === undefined) return
  throw new CommandError(
    'usage',
    `A plan is complete: ${adopt ? '`--adopt`' : '`-c`'} belongs to \`gw plan\`.`,
    {
      hint: 'Leave it out, or plan again with it.',
    },
  )
}

function shown({ plan, tree, radius }: PlanWithImpact, style: Style): string {
  return planToText(withoutDefaults(plan, tree), style, radius)
}

function dryRunToJson({ plan, radius }: PlanWithImpact): { readonly [member: string]: Json } {
  return { applied: false, revision: plan.base, plan: planToJson(plan, radius) }
}
