import { record } from '../../services/audit.ts'
import { listRevisions } from '../../services/history.ts'
import type { Counts } from '../../store/types.ts'
import type { Caller, HandlersOf } from '../call.ts'
import type { ChangeAuthor, UseCasePorts } from '../ports.ts'

type Ids = 'validate_config' | 'plan_config' | 'apply_config' | 'list_revisions' | 'roll_back'

export function configHandlers({ configurations }: Pick<UseCasePorts, 'configurations'>): HandlersOf<Ids> {
  return {
    async validate_config({ body }) {
      return { body: await configurations.validate(body.yaml) }
    },
    async plan_config({ body }) {
      return { body: await configurations.plan(body.yaml) }
    },
    async apply_config({ body, caller, context }) {
      const { revision, counts, set } = await configurations.apply(body, authorOf(caller))
      const change = { action: 'apply_config', target: `set/${set}`, revision } as const
      if (!isEmpty(counts)) await record(context, change)
      return { body: { revision, counts } }
    },
    async list_revisions({ query, context }) {
      return { body: await listRevisions(context, query) }
    },
    async roll_back({ body, caller, context }) {
      const { revision, counts } = await configurations.rollBack(body.revision, authorOf(caller))
      const change = { action: 'roll_back', target: `revision/${body.revision}`, revision } as const
      if (!isEmpty(counts)) await record(context, change)
      return { body: { revision, counts } }
    },
  }
}

function authorOf({ name: author, authority }: Caller): ChangeAuthor {
  return { author, authority }
}

function isEmpty(counts: Counts): boolean {
  return counts.create + counts.update + counts.delete === 0
}
