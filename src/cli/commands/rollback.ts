import type { Command } from 'commander'
import { EXIT } from '../../base/catalogue/command.ts'
import { assertFewDeletes } from '../../services/changes/delete-guard.ts'
import { withoutDefaults } from '../../services/changes/fields.ts'
import {
  type Follower,
  followers,
  planRollbackTo,
  type RollbackWithImpact,
  rollBackTo,
  rollbackToJson,
} from '../../services/history.ts'
import { deletesArgument, revisionArgument } from '../arguments.ts'
import { confirm, expectAnswerable } from '../confirm.ts'
import { inStore } from '../in-store.ts'
import { newCommand } from '../new-command.ts'
import { planToText } from '../output/plan-text.ts'
import { printable, type Style } from '../output/style.ts'
import type { BindHandler, Session } from '../session.ts'
import { addWaitOptions, awaitServed, servedText, type WaitFlag } from '../wait-served.ts'

interface RollbackOptions {
  readonly dryRun?: true
  readonly allowDeletes?: number
  readonly wait?: WaitFlag
}

/** `gw rollback`: an earlier revision as a new one, after the plan is shown and confirmed. */
export function rollbackCommand(bind: BindHandler): Command {
  const command = newCommand('rollback', 'Restore the content of an earlier revision, as a new revision.', [
    'gw rollback 11',
    'gw rollback 11 --dry-run',
    'gw rollback 11 --yes',
  ])
    .argument('<revision>', 'a number from `gw history`')
    .option('--dry-run', 'show the plan and stop: nothing is written')
    .option(
      '--allow-deletes <n>',
      'allow this many deletions; by default at most 10, and more than 2 only up to a fifth of all',
      deletesArgument,
    )
  return addWaitOptions(command)
    .addHelpText(
      'after',
      [
        '',
        'Applies to all owners: files, the command line and REST. No endpoint is probed. Secrets of keys that were deleted',
        'meanwhile are not restored: issue new ones. The next apply of files with another content reverts the rollback;',
        'running gateways that follow such files (`gw serve -c`) are named, and their /health reports `drift`.',
      ].join('\n'),
    )
    .action(bind<RollbackOptions>(handler))
}

async function handler(
  session: Session,
  [text]: readonly string[],
  { dryRun, allowDeletes, wait }: RollbackOptions,
) {
  const { out } = session
  const to = revisionArgument(text)
  const warn = (following: readonly Follower[]) => {
    for (const follower of following) out.info(`warning: ${warning(follower)}`)
  }
  if (dryRun) {
    const { preview, following } = await inStore(session, 'read', async context => ({
      preview: await planRollbackTo(context, to),
      following: await followers(context),
    }))
    if (preview.plan.changes.length > 0) warn(following)
    out.result({ text: () => shown(preview, out.style), json: () => rollbackToJson(preview, following) })
    return EXIT.done
  }
  const { done, following, gateways } = await inStore(session, 'write', async context => {
    const following = await followers(context)
    const done = await rollBackTo(context, to, async preview => {
      out.print(shown(preview, out.style))
      if (preview.plan.changes.length === 0) return
      if (out.format === 'json' && !session.flags.yes) out.info(shown(preview, out.infoStyle).trimEnd())
      assertFewDeletes(preview.plan, allowDeletes)
      warn(following)
      expectAnswerable(session)
      await confirm(session, `Go back to revision ${to}?`)
    })
    return { done, following, gateways: await awaitServed(session, context.store, done.done.revision, wait) }
  })
  const { revision } = done.done
  out.result({
    text: () => {
      const result =
        done.plan.changes.length > 0
          ? `Restored revision ${to} as revision ${revision}.\n`
          : `Nothing to do: revision ${revision} has the same content.\n`
      return result + servedText(gateways, wait)
    },
    json: () => ({
      ...rollbackToJson(done, following),
      ...(gateways !== undefined && { served_by: gateways }),
    }),
  })
  return EXIT.done
}

function warning({ gateway, paths, watch }: Follower): string {
  const when = watch ? 'the next save of a file there' : 'SIGHUP, or its next start,'
  return `the gateway ${gateway} follows ${paths.map(printable).join(', ')}: ${when} reverts this. Change the files, too.`
}

function shown({ plan, radius, resources }: RollbackWithImpact, style: Style): string {
  return planToText(withoutDefaults(plan, { resources }), style, radius)
}
