import { type Command, InvalidArgumentError } from 'commander'
import { record } from '../app/audit.ts'
import {
  type Maintenance,
  maintenanceOf,
  type Switched,
  switchMaintenanceOff,
  switchMaintenanceOn,
} from '../app/maintenance.ts'
import { loggedIn } from '../app/revision-author.ts'
import { withStore } from '../app/stored.ts'
import { EXIT, type ExitCode } from '../base/catalogue/command.ts'
import type { Json } from '../schema/kinds.ts'
import type { Store } from '../store/types.ts'
import { newCommand } from './new-command.ts'
import { appPorts, type BindHandler, type Session } from './session.ts'
import { printable } from './style.ts'

const MESSAGE = /^[^\p{C}]{1,1024}$/u

/** `gw maintenance`: asks nothing, because whoever types it is in a hurry and it can always be taken back. */
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
  return newCommand('on', 'Reject inference from now on, whatever the settings say, until `off`.', [
    'gw maintenance on',
    'gw maintenance on --message "Back at 10:00 UTC."   # also changes the message of one that is on',
  ])
    .option('--message <text>', 'what clients are told (default: the message of the settings)', parseMessage)
    .action(
      bind<{ message?: string }>(async (session, _args, { message }) => {
        const asked = { ...loggedIn(session.io.environment), ...(message !== undefined && { message }) }
        return switched(
          session,
          await manually(session, 'on', async (store, onChange) => {
            const done = await switchMaintenanceOn(store, asked)
            if (done.changed) await onChange()
            return done
          }),
        )
      }),
    )
}

function offCommand(bind: BindHandler): Command {
  return newCommand('off', 'Take back `gw maintenance on`; what the settings say holds again.', [
    'gw maintenance off',
  ]).action(bind(async session => switched(session, await manually(session, 'off', switchMaintenanceOff))))
}

function statusCommand(bind: BindHandler): Command {
  return newCommand('status', 'Say whether inference is rejected, since when, and by whose word.', [
    'gw maintenance status',
    'gw maintenance status --format json | jq .maintenance',
  ]).action(
    bind(async session => {
      const maintenance = await inStore(session, 'read', maintenanceOf)
      session.out.result({ text: () => toText(maintenance), json: () => toJson(maintenance) })
      return EXIT.done
    }),
  )
}

/** Does it and, where that changed something, leaves a line in the audit, also where the settings keep it up. */
function manually(
  session: Session,
  to: 'on' | 'off',
  work: (store: Store, onChange: () => Promise<void>) => Promise<Switched>,
): Promise<Switched> {
  return inStore(session, 'write', store => {
    const deed = { action: 'set_maintenance', target: `maintenance/${to}` }
    return work(store, () => record(store, deed, appPorts(session)))
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
    ...(manually ? [`by hand since ${new Date(manually.sinceMs).toISOString()}${author(manually)}`] : []),
    ...(declared ? [`by the settings${from}`] : []),
  ]
  return `Maintenance is on, ${words.join(' and ')}. Clients are told: ${printable(message)}\n`
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
