import { bindingName } from '../../schema/kinds.ts'
import { create, find, list, remove, shown, update } from '../../services/resources.ts'
import type { StoredResource } from '../../store/types.ts'
import type { Call, HandlersOf } from '../call.ts'
import { canonicalOf, patchedSpec, versionedReply } from '../merge-patch.ts'

type Ids = 'list_bindings' | 'create_binding' | 'get_binding' | 'update_binding' | 'delete_binding'

const kind = 'binding'

export const bindingHandlers: HandlersOf<Ids> = {
  async list_bindings({ query: { publication, endpoint, ...page }, context }) {
    const where = {
      ...(publication !== undefined && { publication }),
      ...(endpoint !== undefined && { endpoint }),
    }
    return { body: await list(context, kind, page, withoutName, { where }) }
  },
  async create_binding({ json, body: { publication, endpoint }, context }) {
    const made = { kind, name: bindingName(publication, endpoint), spec: canonicalOf(kind, json) } as const
    return versionedReply(withoutName(await create(context, 'create_binding', made)))
  },
  async get_binding({ params, context }) {
    return versionedReply(withoutName((await find(context, kind, nameOf(params))).resource))
  },
  async update_binding({ params, json, version, context }) {
    const target = { kind, name: nameOf(params), version } as const
    return versionedReply(
      withoutName(await update(context, 'update_binding', target, patchedSpec(kind, json))),
    )
  },
  async delete_binding({ params, version, context }) {
    return { body: await remove(context, 'delete_binding', { kind, name: nameOf(params), version }) }
  },
}

function nameOf({ publication, endpoint }: Call<'get_binding'>['params']): string {
  return bindingName(publication, endpoint)
}

/** The name of a binding only repeats its two fields. */
function withoutName(resource: StoredResource) {
  const { name: _name, ...others } = shown(resource)
  return others
}
