import { listRevisions, revisionChanges } from '../../services/history.ts'
import { exportYaml, listSets } from '../../services/sets.ts'
import type { HandlersOf } from '../call.ts'
import type { UseCasePorts } from '../ports.ts'

type Ids =
  | 'validate_config'
  | 'plan_config'
  | 'preview_change'
  | 'apply_config'
  | 'list_sets'
  | 'export_config'
  | 'list_revisions'
  | 'get_revision'
  | 'roll_back'

export function configHandlers({ configurations }: Pick<UseCasePorts, 'configurations'>): HandlersOf<Ids> {
  return {
    async validate_config({ body }) {
      return { body: await configurations.validate(body.yaml) }
    },
    async plan_config({ body }) {
      return { body: await configurations.plan(body.yaml) }
    },
    async preview_change({ body }) {
      return { body: await configurations.preview(body) }
    },
    async apply_config({ body, caller: { authority }, context: { actor } }) {
      return { body: await configurations.apply(body, { actor, authority }) }
    },
    async list_sets({ context }) {
      return { body: await listSets(context) }
    },
    async export_config({ query, context }) {
      return { body: await exportYaml(context, query) }
    },
    async list_revisions({ query, context }) {
      return { body: await listRevisions(context, query) }
    },
    async get_revision({ params, query, context }) {
      return { body: await revisionChanges(context, { ...params, ...query }) }
    },
    async roll_back({ body, caller: { authority }, context: { actor } }) {
      return { body: await configurations.rollBack(body, { actor, authority }) }
    },
  }
}
