import { listModels } from '../../services/models.ts'
import { create, find, list, remove, shown, update } from '../../services/resources.ts'
import type { HandlersOf } from '../call.ts'
import { canonicalOf, patchedSpec, versionedReply } from '../merge-patch.ts'

type Ids =
  | 'list_models'
  | 'list_publications'
  | 'create_publication'
  | 'get_publication'
  | 'update_publication'
  | 'delete_publication'

const kind = 'publication'

export const publicationHandlers: HandlersOf<Ids> = {
  async list_models({ query, context }) {
    return { body: await listModels(context, query) }
  },
  async list_publications({ query, context }) {
    return { body: await list(context, kind, query, shown) }
  },
  async create_publication({ json: { name: _name, ...fields }, body: { name }, context }) {
    const made = { kind, name, spec: canonicalOf(kind, fields) } as const
    return versionedReply(shown(await create(context, 'create_publication', made)))
  },
  async get_publication({ params, context }) {
    return versionedReply(shown((await find(context, kind, params.name)).resource))
  },
  async update_publication({ params, json, version, context }) {
    const edit = patchedSpec(kind, json)
    return versionedReply(
      shown(await update(context, 'update_publication', { kind, ...params, version }, edit)),
    )
  },
  async delete_publication({ params, version, context }) {
    return { body: await remove(context, 'delete_publication', { kind, ...params, version }) }
  },
}
