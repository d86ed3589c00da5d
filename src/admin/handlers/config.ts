import { revisionToJson } from '../../services/changes/revision-json.ts'
import type { Counts } from '../../store/types.ts'
import type { Caller, HandlersOf } from '../call.ts'
import { idBefore, pageOf } from '../paging.ts'
import type { ChangeAuthor, UseCasePorts } from '../ports.ts'

type Ids = 'validate_config' | 'plan_config' | 'apply_config' | 'list_revisions' | 'roll_back'

export function configHandlers({ store, configurations }: UseCasePorts): HandlersOf<Ids> {
  return {
    async validate_config({ body }) {
      return { body: await configurations.validate(body.yaml) }
    },
    async plan_config({ body }) {
      return { body: await configurations.plan(body.yaml) }
    },
    async apply_config({ body, caller, markUnchanged }) {
      const { revision, counts, set } = await configurations.apply(body, authorOf(caller))
      if (isEmpty(counts)) markUnchanged()
      return { body: { revision, counts }, revision, target: `set/${set}` }
    },
    async list_revisions({ query }) {
      return {
        body: await pageOf(
          query,
          (limit, mark) => store.revisions({ limit, ...idBefore(mark) }),
          revision => revision.id,
          revisionToJson,
        ),
      }
    },
    async roll_back({ body, caller, markUnchanged }) {
      const { revision, counts } = await configurations.rollBack(body.revision, authorOf(caller))
      if (isEmpty(counts)) markUnchanged()
      return { body: { revision, counts }, revision, target: `revision/${body.revision}` }
    },
  }
}

function authorOf({ name: author, authority }: Caller): ChangeAuthor {
  return { author, authority }
}

function isEmpty(counts: Counts): boolean {
  return counts.create + counts.update + counts.delete === 0
}
