import type { Command } from 'commander'
import { applyConfiguration, type Foreseen, type Planned, planConfiguration } from '../app/configuration.ts'
import { counted } from '../app/counted.ts'
import { withoutDefaults } from '../app/written-fields.ts'
import { EXIT } from '../base/catalogue/command.ts'
import type { BlastRadius } from '../changes/blast/types.ts'
import { planToJson } from '../changes/plan-json.ts'
import type { Applied } from '../changes/types.ts'
import type { Json } from '../schema/kinds.ts'
import { configPaths } from './config-paths.ts'
import { confirm, expectAnswerable } from './confirm.ts'
import { planToText } from './plan-text.ts'
import { PROBE_TIMEOUT_MS, timeoutArgument, withProgress } from './probe.ts'
import { probeToJson } from './probe-text.ts'
import { appPorts, type Bind, type Session } from './session.ts'
import type { Style } from './style.ts'
import { verb } from './verb.ts'
import { talkWarnings } from './warnings.ts'

interface ApplyOptions {
  readonly dryRun?: true
  readonly skipProbe?: true
  readonly timeout?: number
}

/** `gw apply`: brings the store to what the files say, in one transaction, once the plan was seen and agreed to. */
export function applyCommand(bind: Bind): Command {
  return verb('apply', 'Bring the store to what the files say, in one transaction.', [
    'gw apply -c ./config',
    'gw apply -c ./config --yes   # in CI, after a review of `gw diff`',
    'gw apply -c ./config --skip-probe',
  ])
    .option(
      '--dry-run',
      'show the plan and stop: nobody is probed, nothing is written (`gw probe -c` probes)',
    )
    .option('--skip-probe', 'do not ask new and changed endpoints whether they answer')
    .option('--timeout <duration>', 'for each probe (default: 10s)', timeoutArgument)
    .action(bind<ApplyOptions>(act))
}

async function act(session: Session, _args: readonly string[], options: ApplyOptions) {
  const { out, flags } = session
  const { dryRun, skipProbe, timeout = PROBE_TIMEOUT_MS } = options
  const paths = configPaths(session)
  if (dryRun) {
    const planned = await planConfiguration(paths, flags.store, appPorts(session))
    talkWarnings(out, planned.warnings)
    out.result({ text: () => shown(planned, out.style), json: () => outcome(planned, planned.radius) })
    return EXIT.done
  }
  let radius: BlastRadius | undefined
  const { planned, probed, applied } = await withProgress(session, timeout, wishes =>
    applyConfiguration(paths, flags.store, appPorts(session), ready => agreement(session, ready), {
      preview: async ready => {
        radius = ready.radius
        preview(session, ready)
      },
      ...(!skipProbe && { probe: wishes }),
    }),
  )
  const changed = planned.plan.changes.length > 0
  out.result({
    text: () => {
      const answered = probed.length > 0 ? `${counted(probed.length, 'probe')}: all ok.\n` : ''
      return changed
        ? `${answered}Applied: revision ${applied.revision}.\n`
        : `Nothing to do: revision ${applied.revision} stays.\n`
    },
    json: () => ({ ...outcome(planned, radius, applied), probes: probed.map(probeToJson) }),
  })
  return EXIT.done
}

/** Shows the plan; refuses at once, before upstreams are asked, where nobody could agree to it. */
function preview(session: Session, planned: Foreseen): void {
  const { out, flags } = session
  talkWarnings(out, planned.warnings)
  out.say(shown(planned, out.style))
  if (planned.plan.changes.length === 0) return
  // Nobody agrees to what they have not seen: with JSON on stdout the plan is talk as well.
  if (out.format === 'json' && !flags.yes) out.talk(shown(planned, out.talkStyle).trimEnd())
  expectAnswerable(session)
}

async function agreement(session: Session, { plan }: Planned): Promise<void> {
  if (plan.changes.length > 0) await confirm(session, 'Apply these changes?')
}

function shown({ plan, tree, radius }: Foreseen, style: Style): string {
  return planToText(withoutDefaults(plan, tree), style, radius)
}

function outcome(
  { plan }: Planned,
  radius: BlastRadius | undefined,
  applied?: Applied,
): { readonly [member: string]: Json } {
  return {
    applied: applied !== undefined && plan.changes.length > 0,
    revision: applied?.revision ?? plan.base,
    plan: planToJson(plan, radius),
  }
}
