import { iso } from '../../base/iso.ts'
import type { HandlersOf } from '../call.ts'
import { idBefore, pageOf } from '../paging.ts'
import type { UseCasePorts } from '../ports.ts'

type Ids = 'get_maintenance' | 'set_maintenance' | 'get_status' | 'list_audit'

export function operatingHandlers(ports: UseCasePorts): HandlersOf<Ids> {
  const { store, maintenance } = ports
  return {
    async get_maintenance() {
      return { body: await maintenance.show() }
    },
    async set_maintenance({ body: { enabled, message }, caller, store: changing, markUnchanged }) {
      const wanted = { enabled, author: caller.name, ...(message !== undefined && { message }) }
      const { changed, ...shown } = await maintenance.set(wanted, changing)
      if (!changed) markUnchanged()
      return { body: shown, target: `maintenance/${enabled ? 'on' : 'off'}` }
    },
    async get_status() {
      const { revision } = await store.head()
      return { body: { ...(await ports.status()), store_revision: revision } }
    },
    async list_audit({ query: { limit, cursor, user, action, target } }) {
      const filters = {
        ...(user !== undefined && { user }),
        ...(action !== undefined && { action }),
        ...(target !== undefined && { target }),
      }
      return {
        body: await pageOf(
          { limit, cursor },
          (limit, mark) => store.users.audit({ ...filters, limit, ...idBefore(mark) }),
          line => line.id,
          ({ atMs, requestId, ...line }) => ({
            ...line,
            at: iso(atMs),
            ...(requestId !== undefined && { request_id: requestId }),
          }),
        ),
      }
    },
  }
}
