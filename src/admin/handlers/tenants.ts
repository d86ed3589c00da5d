import type { HandlersOf } from '../call.ts'
import type { UseCasePorts } from '../ports.ts'
import { changedReply, create, find, list, remove, shown, shownReply, update } from '../resources.ts'

type Ids = 'list_tenants' | 'create_tenant' | 'get_tenant' | 'update_tenant' | 'delete_tenant'

export function tenantHandlers(ports: UseCasePorts): HandlersOf<Ids> {
  return {
    async list_tenants({ query, caller }) {
      const own = caller.tenant === undefined ? {} : { name: caller.tenant }
      return { body: await list(ports, 'tenant', query, shown, own) }
    },
    async create_tenant(call) {
      const tenant = await create(ports, 'tenant', call.body.name, call)
      return changedReply(tenant, shown(tenant))
    },
    async get_tenant({ params }) {
      const { resource } = await find(ports, 'tenant', params.name)
      return shownReply(resource, shown(resource))
    },
    async update_tenant(call) {
      const tenant = await update(ports, 'tenant', call.params.name, call)
      return changedReply(tenant, shown(tenant))
    },
    delete_tenant: call => remove(ports, 'tenant', call.params.name, call),
  }
}
