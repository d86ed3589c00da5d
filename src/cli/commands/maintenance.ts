import { type Command, InvalidArgumentError } from 'commander'
import { EXIT, type ExitCode } from '../../base/catalogue/command.ts'
import {
  type MaintenanceShown,
  type MaintenanceSwitched,
  setMaintenance,
  showMaintenance,
} from '../../services/maintenance.ts'
import { inStore } from '../in-store.ts'
import { newCommand } from '../new-command.ts'
import { printable } from '../output/style.ts'
import type { BindHandler, Session } from '../session.ts'

const MESSAGE = /^[^\p{C}]{1,1024}$/u

/** `gw maintenance`: without confirmation, because incidents are urgent and it can always be reverted. */
export function maintenanceCommand(bind: BindHandler): Command {
  return newCommand('maintenance', 'Reject inference with 503 at once, without a deploy.', [
    'gw maintenance on --message "Back at 10:00 UTC."',
    'gw maintenance off',
    'gw maintenance status',
  ])
    .addCommand(onCommand(bind))
    .addCommand(offCommand(bind))
    .addCommand(statusCommand(bind))
}

function onCommand(bind: BindHandler): Command {
  return newCommand('on', 'Reject inference from now on, regardless of the settings, until `off`.', [
    'gw maintenance on',
    'gw maintenance on --message "Back at 10:00 UTC."   # also changes the message of an active one',
  ])
    .option('--message <text>', 'the error message for clients (default: from the settings)', parseMessage)
    .action(
      bind<{ message?: string }>(async (session, _args, { message }) => {
        const wanted = { enabled: true, message }
        return switched(session, await inStore(session, 'write', context => setMaintenance(context, wanted)))
      }),
    )
}

function offCommand(bind: BindHandler): Command {
  return newCommand('off', 'Revert `gw maintenance on`; the settings decide again.', [
    'gw maintenance off',
  ]).action(
    bind(async session => {
      const wanted = { enabled: false }
      return switched(session, await inStore(session, 'write', context => setMaintenance(context, wanted)))
    }),
  )
}

function statusCommand(bind: BindHandler): Command {
  return newCommand(
    'status',
    'Show whether inference is rejected, since when, and by which user or setting.',
    ['gw maintenance status', 'gw maintenance status --format json | jq .on'],
  ).action(
    bind(async session => {
      const maintenance = await inStore(session, 'read', showMaintenance)
      session.out.result({ text: () => toText(maintenance), json: () => maintenance })
      return EXIT.done
    }),
  )
}

function switched({ out }: Session, answer: MaintenanceSwitched): ExitCode {
  out.result({
    text: () => `${answer.changed ? '' : 'Nothing to do. '}${toText(answer)}`,
    json: () => answer,
  })
  return EXIT.done
}

function toText({ on, message, switched: manually, declared, file, line }: MaintenanceShown): string {
  if (!on) return 'Maintenance is off.\n'
  const from = file === undefined ? '' : ` (${file}:${line})`
  const by = manually?.author === undefined ? '' : `, by ${printable(manually.author)}`
  const words = [
    ...(manually ? [`manually since ${manually.since}${by}`] : []),
    ...(declared ? [`by the settings${from}`] : []),
  ]
  return `Maintenance is on, ${words.join(' and ')}. Message for clients: ${printable(message)}\n`
}

function parseMessage(text: string): string {
  if (!MESSAGE.test(text)) throw new InvalidArgumentError('One line of at most 1024 characters.')
  return text
}
