import { create, find, list, remove, shown, update } from '../../services/resources.ts'
import type { HandlersOf } from '../call.ts'
import { canonicalOf, patchedSpec, versionedReply } from '../merge-patch.ts'

type Ids = 'list_tenants' | 'create_tenant' | 'get_tenant' | 'update_tenant' | 'delete_tenant'

const kind = 'tenant'

export const tenantHandlers: HandlersOf<Ids> = {
  async list_tenants({ query, context }) {
    const { tenant } = context.actor
    return { body: await list(context, kind, query, shown, tenant === undefined ? {} : { name: tenant }) }
  },
  async create_tenant({ json: { name: _name, ...fields }, body: { name }, context }) {
    const made = { kind, name, spec: canonicalOf(kind, fields) } as const
    return versionedReply(shown(await create(context, 'create_tenant', made)))
  },
  async get_tenant({ params, context }) {
    return versionedReply(shown((await find(context, kind, params.name)).resource))
  },
  async update_tenant({ params, json, version, context }) {
    const edit = patchedSpec(kind, json)
    return versionedReply(shown(await update(context, 'update_tenant', { kind, ...params, version }, edit)))
  },
  async delete_tenant({ params, version, context }) {
    return { body: await remove(context, 'delete_tenant', { kind, ...params, version }) }
  },
}
