import { ApiError } from '../../base/catalogue/api.ts'
import { CommandError } from '../../base/catalogue/command.ts'
import { apply } from '../../changes/apply.ts'
import { blastRadius } from '../../changes/blast/radius.ts'
import { knownOutside } from '../../changes/export.ts'
import { plan } from '../../changes/plan.ts'
import { planToJson } from '../../changes/plan-json.ts'
import { probeOrders, standingAfter } from '../../changes/probe-orders.ts'
import { ProbeError } from '../../changes/refusals.ts'
import { revisionToJson } from '../../changes/revision-json.ts'
import { rollBack } from '../../changes/rollback.ts'
import type { Plan } from '../../changes/types.ts'
import { problemJson } from '../../config/format.ts'
import type { Problem, Tree } from '../../config/types.ts'
import type { OperationOf } from '../../schema/api/operations.ts'
import type { AnswerOf } from '../../schema/api/types.ts'
import type { Live } from '../../store/types.ts'
import type { HandlersOf } from '../call.ts'
import { idBefore, pageOf } from '../paging.ts'
import type { UseCasePorts } from '../ports.ts'
import { handOf } from '../resources.ts'
import { assertReferencesStand } from './remote-references.ts'

type Ids = 'validate_config' | 'plan_config' | 'apply_config' | 'list_revisions' | 'roll_back'

export function configHandlers(ports: UseCasePorts): HandlersOf<Ids> {
  const { store, check } = ports
  return {
    async validate_config({ body }) {
      const { tree, warnings } = await understood(body.yaml, await store.live())
      return {
        body: { set: tree.set, resources: tree.resources.length, warnings: warnings.map(problemBody) },
      }
    },
    async plan_config({ body }) {
      const live = await store.live()
      const { tree } = await understood(body.yaml, live)
      assertReferencesStand(tree.resources, live.resources)
      // The same as the schema's in other words: a plan is written once, for the command line as well.
      const made = plan(live, tree)
      const after = standingAfter(made, live.resources, tree)
      const radius = await blastRadius(live, after, made.renames, ports.recentUse)
      return { body: planToJson(made, radius) as unknown as AnswerOf<OperationOf<'plan_config'>> }
    },
    async apply_config({ body, caller }) {
      const live = await store.live()
      if (live.head.revision !== body.base) {
        throw new CommandError(
          'GW4001',
          `The plan was made against revision ${body.base}, but the store is at ${live.head.revision}.`,
        )
      }
      const { tree } = await understood(body.yaml, live)
      assertReferencesStand(tree.resources, live.resources)
      const agreed = plan(live, tree)
      if (agreed.counts.delete > body.allow_deletes) {
        throw new ApiError(
          'too_many_deletes',
          `It would delete ${agreed.counts.delete} resources, and ${body.allow_deletes} are allowed.`,
        )
      }
      if (!body.skip_probe) await probed(agreed, tree, live)
      const { revision, counts } = await apply(store, agreed, tree, {
        origin: 'rest',
        author: caller.name,
        check,
      })
      return { body: { revision, counts }, revision, target: `set/${tree.set}` }
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
    async roll_back({ body, caller }) {
      const { revision, counts } = await rollBack(store, body.revision, handOf(caller, ports))
      return { body: { revision, counts }, revision, target: `revision/${body.revision}` }
    },
  }

  /** @throws {ApiError} configuration_invalid, with every problem. */
  async function understood(yaml: string, live: Live) {
    const loaded = await ports.understand({ yaml, known: knownOutside(live) })
    if (loaded.ok) return { tree: loaded.tree, warnings: loaded.problems }
    throw new ApiError('configuration_invalid', undefined, {
      more: { problems: loaded.problems.map(problemBody) },
    })
  }

  /** @throws {ProbeError} GW5001 */
  async function probed(agreed: Plan, tree: Tree, live: Live): Promise<void> {
    const orders = probeOrders(agreed, live.resources, standingAfter(agreed, live.resources, tree))
    const verdicts = await Promise.all(orders.map(order => ports.probe(order)))
    const failures = orders.flatMap(({ endpoint, models }, index) => {
      const verdict = verdicts[index]
      if (!verdict || verdict.ok) return []
      return [{ endpoint: endpoint.name, model: models[0] ?? '', cause: verdict.cause, mend: verdict.mend }]
    })
    if (failures.length > 0) throw new ProbeError(failures)
  }
}

function problemBody(problem: Problem) {
  return { ...problemJson(problem) }
}
