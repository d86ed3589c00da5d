import { type Command, InvalidArgumentError } from 'commander'
import { EXIT, type ExitCode } from '../../base/catalogue/command.ts'
import type { Json } from '../../schema/kinds.ts'
import { record } from '../../services/audit.ts'
import {
  type Maintenance,
  maintenanceOf,
  type Switched,
  switchMaintenanceOff,
  switchMaintenanceOn,
} from '../../services/maintenance.ts'
import { loggedIn } from '../../services/revision-author.ts'
import { withStore } from '../../services/stored.ts'
import type { Store } from '../../store/types.ts'
import { newCommand } from '../new-command.ts'
import { printable } from '../output/style.ts'
import { appPorts, type BindHandler, type Session } from '../session.ts'

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
        const request = { ...loggedIn(session.io.environment), ...(message !== undefined && { message }) }
        return switched(
          session,
          await manually(session, 'on', async (store, onChange) => {
            const done = await switchMaintenanceOn(store, request)
            if (done.changed) await onChange()
            return done
          }),
        )
      }),
    )
}

function offCommand(bind: BindHandler): Command {
  return newCommand('off', 'Revert `gw maintenance on`; the settings decide again.', [
    'gw maintenance off',
  ]).action(bind(async session => switched(session, await manually(session, 'off', switchMaintenanceOff))))
}

function statusCommand(bind: BindHandler): Command {
  return newCommand(
    'status',
    'Show whether inference is rejected, since when, and by which user or setting.',
    ['gw maintenance status', 'gw maintenance status --format json | jq .maintenance'],
  ).action(
    bind(async session => {
      const maintenance = await inStore(session, 'read', maintenanceOf)
      session.out.result({ text: () => toText(maintenance), json: () => toJson(maintenance) })
      return EXIT.done
    }),
  )
}

/** Runs the change and, if it changed something, records it in the audit, even if the settings keep maintenance on. */
function manually(
  session: Session,
  to: 'on' | 'off',
  work: (store: Store, onChange: () => Promise<void>) => Promise<Switched>,
): Promise<Switched> {
  return inStore(session, 'write', store => {
    const entry = { action: 'set_maintenance', target: `maintenance/${to}` }
    return work(store, () => record(store, entry, appPorts(session)))
  })
}

function inStore<T>(
  session: Session,
  mode: 'read' | 'write',
  work: Parameters<typeof withStore<T>>[3],
): Promise<T> {
  session.signal.throwIfAborted()
  return withStore(session.flags.store, mode, appPorts(session), work)
}

function switched({ out }: Session, { maintenance, changed }: Switched): ExitCode {
  out.result({
    text: () => `${changed ? '' : 'Nothing to do. '}${toText(maintenance)}`,
    json: () => ({ ...toJson(maintenance), changed }),
  })
  return EXIT.done
}

function toText({ on, message, switched: manually, declared, place }: Maintenance): string {
  if (!on) return 'Maintenance is off.\n'
  const from = place ? ` (${place.file}:${place.line})` : ''
  const words = [
    ...(manually ? [`manually since ${new Date(manually.sinceMs).toISOString()}${author(manually)}`] : []),
    ...(declared ? [`by the settings${from}`] : []),
  ]
  return `Maintenance is on, ${words.join(' and ')}. Message for clients: ${printable(message)}\n`
}

function author({ author }: { readonly author?: string }): string {
  return author === undefined ? '' : `, by ${printable(author)}`
}

function toJson({ on, message, switched: manually, declared, place }: Maintenance): {
  [member: string]: Json
} {
  return {
    maintenance: on,
    message: on ? message : null,
    by_hand: manually
      ? { since: new Date(manually.sinceMs).toISOString(), author: manually.author ?? null }
      : null,
    declared,
    ...(place && { place: { file: place.file, line: place.line } }),
  }
}

function parseMessage(text: string): string {
  if (!MESSAGE.test(text)) throw new InvalidArgumentError('One line of at most 1024 characters.')
  return text
}
