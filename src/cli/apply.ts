import type { Command } from 'commander'
import { applyConfiguration, type Planned, planConfiguration } from '../app/configuration.ts'
import { withoutDefaults } from '../app/written-fields.ts'
import { EXIT } from '../base/catalogue/command.ts'
import { planToJson } from '../changes/plan-json.ts'
import type { Applied } from '../changes/types.ts'
import type { Json } from '../schema/kinds.ts'
import { configPaths } from './config-paths.ts'
import { confirm } from './confirm.ts'
import { planToText } from './plan-text.ts'
import { appPorts, type Bind, type Session } from './session.ts'
import type { Style } from './style.ts'
import { verb } from './verb.ts'
import { talkWarnings } from './warnings.ts'

interface ApplyOptions {
  readonly dryRun?: true
}

/** `gw apply`: brings the store to what the files say, in one transaction, once the plan was seen and agreed to. */
export function applyCommand(bind: Bind): Command {
  return verb('apply', 'Bring the store to what the files say, in one transaction.', [
    'gw apply -c ./config',
    'gw apply -c ./config --yes   # in CI, after a review of `gw diff`',
  ])
    .option('--dry-run', 'show the plan and stop')
    .action(bind<ApplyOptions>(act))
}

async function act(session: Session, _args: readonly string[], { dryRun }: ApplyOptions) {
  const { out, flags } = session
  const paths = configPaths(session)
  if (dryRun) {
    const planned = await planConfiguration(paths, flags.store, appPorts(session))
    talkWarnings(out, planned.warnings)
    out.result({ text: () => shown(planned, out.style), json: () => outcome(planned) })
    return EXIT.done
  }
  const { planned, applied } = await applyConfiguration(paths, flags.store, appPorts(session), ready =>
    review(session, ready),
  )
  const changed = planned.plan.changes.length > 0
  out.result({
    text: () =>
      changed
        ? `Applied: revision ${applied.revision}.\n`
        : `Nothing to do: revision ${applied.revision} stays.\n`,
    json: () => outcome(planned, applied),
  })
  return EXIT.done
}

async function review(session: Session, planned: Planned): Promise<void> {
  const { out, flags } = session
  talkWarnings(out, planned.warnings)
  out.say(shown(planned, out.style))
  if (planned.plan.changes.length === 0) return
  // Nobody agrees to what they have not seen: with JSON on stdout the plan is talk as well.
  if (out.format === 'json' && !flags.yes) out.talk(shown(planned, out.talkStyle).trimEnd())
  await confirm(session, 'Apply these changes?')
}

function shown({ plan, tree }: Planned, style: Style): string {
  return planToText(withoutDefaults(plan, tree), style)
}

function outcome({ plan }: Planned, applied?: Applied): Json {
  return {
    applied: applied !== undefined && plan.changes.length > 0,
    revision: applied?.revision ?? plan.base,
    plan: planToJson(plan),
  }
}
