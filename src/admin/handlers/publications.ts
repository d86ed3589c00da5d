import type { HandlersOf } from '../call.ts'
import type { UseCasePorts } from '../ports.ts'
import { changedReply, create, find, list, remove, shown, shownReply, update } from '../resources.ts'

type Ids =
  | 'list_publications'
  | 'create_publication'
  | 'get_publication'
  | 'update_publication'
  | 'delete_publication'

export function publicationHandlers(ports: UseCasePorts): HandlersOf<Ids> {
  return {
    async list_publications({ query }) {
      return { body: await list(ports, 'publication', query, shown) }
    },
    async create_publication(call) {
      const publication = await create(ports, 'publication', call.body.name, call)
      return changedReply(publication, shown(publication))
    },
    async get_publication({ params }) {
      const { resource } = await find(ports, 'publication', params.name)
      return shownReply(resource, shown(resource))
    },
    async update_publication(call) {
      const publication = await update(ports, 'publication', call.params.name, call)
      return changedReply(publication, shown(publication))
    },
    delete_publication: call => remove(ports, 'publication', call.params.name, call),
  }
}
