import { listAudit } from '../../services/audit.ts'
import { setMaintenance, showMaintenance } from '../../services/maintenance.ts'
import { showStatus } from '../../services/status.ts'
import type { HandlersOf } from '../call.ts'
import type { UseCasePorts } from '../ports.ts'

type Ids = 'get_maintenance' | 'set_maintenance' | 'get_status' | 'list_audit'

export function operatingHandlers({ metricsToken }: Pick<UseCasePorts, 'metricsToken'>): HandlersOf<Ids> {
  return {
    async get_maintenance({ context }) {
      return { body: await showMaintenance(context) }
    },
    async set_maintenance({ body, context }) {
      return { body: await setMaintenance(context, body) }
    },
    async get_status({ context }) {
      return { body: await showStatus(context, metricsToken) }
    },
    async list_audit({ query, context }) {
      return { body: await listAudit(context, query) }
    },
  }
}
