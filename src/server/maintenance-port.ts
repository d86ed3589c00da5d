import type { MaintenanceShown, UseCasePorts } from '../admin/ports.ts'
import {
  type Maintenance,
  maintenanceOf,
  switchMaintenanceOff,
  switchMaintenanceOn,
} from '../services/maintenance.ts'
import type { Store } from '../store/types.ts'

/** The maintenance switch of a store, for the control plane. */
export function maintenancePort(store: Pick<Store, 'live'>): UseCasePorts['maintenance'] {
  return {
    show: async () => maintenanceBody(await maintenanceOf(store)),
    async set({ enabled, ...wanted }, changing) {
      const { maintenance, changed } = enabled
        ? await switchMaintenanceOn(changing, wanted)
        : await switchMaintenanceOff(changing)
      return { ...maintenanceBody(maintenance), changed }
    },
  }
}

function maintenanceBody({ on, message, declared, switched, place }: Maintenance): MaintenanceShown {
  return {
    on,
    message,
    declared,
    ...(switched && {
      switched: {
        since: new Date(switched.sinceMs).toISOString(),
        ...(switched.author !== undefined && { author: switched.author }),
        ...(switched.message !== undefined && { message: switched.message }),
      },
    }),
    ...(place && { file: place.file, line: place.line }),
  }
}
