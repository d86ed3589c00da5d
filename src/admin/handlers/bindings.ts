import { bindingName } from '../../schema/kinds.ts'
import type { StoredResource } from '../../store/types.ts'
import type { HandlersOf } from '../call.ts'
import type { UseCasePorts } from '../ports.ts'
import { changedReply, create, find, list, remove, shown, shownReply, update } from '../resources.ts'

type Ids = 'list_bindings' | 'create_binding' | 'get_binding' | 'update_binding' | 'delete_binding'

export function bindingHandlers(ports: UseCasePorts): HandlersOf<Ids> {
  return {
    async list_bindings({ query: { publication, endpoint, ...page } }) {
      const where = {
        ...(publication !== undefined && { publication }),
        ...(endpoint !== undefined && { endpoint }),
      }
      return { body: await list(ports, 'binding', page, withoutName, { where }) }
    },
    async create_binding(call) {
      const name = bindingName(call.body.publication, call.body.endpoint)
      const binding = await create(ports, 'binding', name, call)
      return changedReply(binding, withoutName(binding))
    },
    async get_binding({ params }) {
      const { resource } = await find(ports, 'binding', bindingName(params.publication, params.endpoint))
      return shownReply(resource, withoutName(resource))
    },
    async update_binding(call) {
      const { publication, endpoint } = call.params
      const binding = await update(ports, 'binding', bindingName(publication, endpoint), call)
      return changedReply(binding, withoutName(binding))
    },
    delete_binding: call =>
      remove(ports, 'binding', bindingName(call.params.publication, call.params.endpoint), call),
  }
}

/** The name of a binding only repeats its two fields. */
function withoutName(resource: StoredResource) {
  const { name: _name, ...others } = shown(resource)
  return others
}
