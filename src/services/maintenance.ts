import { CommandError } from '../base/catalogue/command.ts'
import { decode } from '../schema/kinds.ts'
import { settings as settingsSchema } from '../schema/settings.ts'
import type { MaintenanceSwitch } from '../schema/state.ts'
import type { Live, SourceLine, Store } from '../store/types.ts'

/** Whether inference is rejected with 503 `maintenance`, and why. */
export interface Maintenance {
  readonly on: boolean
  /** The message to clients while it is on. */
  readonly message: string
  /** The manual switch; absent if it is off. */
  readonly switched?: MaintenanceSwitch
  /** The settings of the configuration enable it. */
  readonly declared: boolean
  /** The place of the settings in the files, if known. */
  readonly place?: SourceLine
}

/** The result of a switch. */
export interface Switched {
  readonly maintenance: Maintenance
  /** False if the switch already had this state. */
  readonly changed: boolean
}

/** @throws {CommandError} store_… */
export async function maintenanceOf(store: Pick<Store, 'live'>): Promise<Maintenance> {
  return described(await store.live())
}

/**
 * Rejects inference, whatever the settings say, until {@link switchMaintenanceOff}. A running gateway sees it within a
 * second.
 *
 * @throws {CommandError} store_…
 */
export async function switchMaintenanceOn(
  store: Store,
  more: Pick<MaintenanceSwitch, 'message' | 'author'>,
): Promise<Switched> {
  const changed = await store.switchMaintenanceOn(more)
  return { changed, maintenance: await maintenanceOf(store) }
}

/**
 * Turns the manual switch off. Then the settings apply again.
 *
 * @param onChange is called if the switch was on, even if the settings keep the gateway in maintenance.
 * @throws {CommandError} store_…; maintenance_in_file if the settings keep the gateway in maintenance. The switch is off then.
 */
export async function switchMaintenanceOff(
  store: Store,
  onChange: () => Promise<void> = async () => undefined,
): Promise<Switched> {
  const changed = await store.switchMaintenanceOff()
  if (changed) await onChange()
  const maintenance = await maintenanceOf(store)
  if (!maintenance.declared) return { changed, maintenance }
  const place = maintenance.place && `${maintenance.place.file}:${maintenance.place.line}`
  throw new CommandError(
    'maintenance_in_file',
    `The switch is off, but the settings${place ? ` of ${place}` : ''} keep the gateway in maintenance.`,
    place ? { hint: `Set \`maintenance.enabled: false\` in ${place}, and apply.` } : {},
  )
}

function described({ resources, maintenance: switched }: Live): Maintenance {
  const stored = resources.find(({ kind }) => kind === 'settings')
  const declared = (stored ? decode('settings', stored.spec) : settingsSchema.parse({})).maintenance
  return {
    on: declared.enabled || switched !== undefined,
    message: switched?.message ?? declared.message,
    declared: declared.enabled,
    ...(switched && { switched }),
    ...(stored?.place && { place: stored.place }),
  }
}
