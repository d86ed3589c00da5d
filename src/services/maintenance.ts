import { CommandError } from '../base/catalogue/command.ts'
import { iso } from '../base/iso.ts'
import type { OperationOf } from '../schema/api/operations.ts'
import type { AnswerOf } from '../schema/api/types.ts'
import { decode } from '../schema/kinds.ts'
import { settings as settingsSchema } from '../schema/settings.ts'
import type { Live } from '../store/types.ts'
import { record } from './audit.ts'
import type { Context } from './context.ts'

/** The document of maintenance mode: whether inference is rejected with 503 `maintenance`, and why. */
export type MaintenanceShown = AnswerOf<OperationOf<'get_maintenance'>>
export type MaintenanceSwitched = AnswerOf<OperationOf<'set_maintenance'>>

export async function showMaintenance({ store }: Pick<Context, 'store'>): Promise<MaintenanceShown> {
  return maintenanceOf(await store.live())
}

/**
 * Switched on: inference is rejected, whatever the settings say. Off: the settings apply again. A running gateway sees
 * it within a second.
 *
 * @throws {CommandError} maintenance_in_file if the settings keep the gateway in maintenance. The switch is off then.
 */
export async function setMaintenance(
  context: Context,
  { enabled, message }: { readonly enabled: boolean; readonly message?: string | undefined },
): Promise<MaintenanceSwitched> {
  const { store, actor, signal } = context
  signal.throwIfAborted()
  const more = {
    ...(message !== undefined && { message }),
    ...(actor.name !== undefined && { author: actor.name }),
  }
  const changed = enabled ? await store.switchMaintenanceOn(more) : await store.switchMaintenanceOff()
  const target = `maintenance/${enabled ? 'on' : 'off'}`
  if (changed) await record(context, { action: 'set_maintenance', target })
  const maintenance = await showMaintenance(context)
  if (enabled || !maintenance.declared) return { ...maintenance, changed }
  const { file, line } = maintenance
  const place = file === undefined ? undefined : `${file}:${line}`
  throw new CommandError(
    'maintenance_in_file',
    `The switch is off, but the settings${place ? ` of ${place}` : ''} keep the gateway in maintenance.`,
    place ? { hint: `Set \`maintenance.enabled: false\` in ${place}, and apply.` } : {},
  )
}

export function maintenanceOf({ resources, maintenance: switched }: Live): MaintenanceShown {
  const stored = resources.find(({ kind }) => kind === 'settings')
  const declared = (stored ? decode('settings', stored.spec) : settingsSchema.parse({})).maintenance
  return {
    on: declared.enabled || switched !== undefined,
    message: switched?.message ?? declared.message,
    declared: declared.enabled,
    ...(switched && {
      switched: {
        since: iso(switched.sinceMs),
        ...(switched.author !== undefined && { author: switched.author }),
        ...(switched.message !== undefined && { message: switched.message }),
      },
    }),
    ...(stored?.place && { file: stored.place.file, line: stored.place.line }),
  }
}
