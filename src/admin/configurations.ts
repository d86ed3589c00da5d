import { ApiError } from '../base/catalogue/api.ts'
import { CommandError } from '../base/catalogue/command.ts'
import { problemJson } from '../config/format.ts'
import { load } from '../config/load.ts'
import type { Problem, Tree } from '../config/types.ts'
import type { OperationOf } from '../schema/api/operations.ts'
import type { AnswerOf } from '../schema/api/types.ts'
import { apply } from '../services/changes/apply.ts'
import { blastRadius } from '../services/changes/blast/radius.ts'
import { knownOutside } from '../services/changes/export.ts'
import { plan } from '../services/changes/plan.ts'
import { planToJson } from '../services/changes/plan-json.ts'
import { probeOrders, resourcesAfter } from '../services/changes/probe-orders.ts'
import { ProbeError } from '../services/changes/rejections.ts'
import { rollBack } from '../services/changes/rollback.ts'
import type { Plan } from '../services/changes/types.ts'
import type { Live, Store } from '../store/types.ts'
import type { Configurations, UseCasePorts } from './ports.ts'
import { assertKnownReferences } from './remote-references.ts'

/** Processes configurations on a store, in this thread. */
export function configurationsOn(
  ports: Pick<UseCasePorts, 'check' | 'recentUse' | 'probe'> & { readonly store: Store },
): Configurations {
  const { store, check } = ports
  return {
    async validate(yaml) {
      const { tree, warnings } = await parseConfig(yaml, await store.live())
      return { set: tree.set, resources: tree.resources.length, warnings: warnings.map(problemBody) }
    },
    async plan(yaml) {
      const live = await store.live()
      const { tree } = await parseConfig(yaml, live)
      assertKnownReferences(tree.resources, live.resources)
      const made = plan(live, tree)
      const after = resourcesAfter(made, live.resources, tree)
      const radius = await blastRadius(live, after, made.renames, ports.recentUse)
      // Matches the schema's type, which is written separately from the plan's.
      return planToJson(made, radius) as unknown as AnswerOf<OperationOf<'plan_config'>>
    },
    async apply(body, { author, authority }) {
      const live = await store.live()
      if (live.head.revision !== body.base) {
        throw new CommandError(
          'revision_changed',
          `The plan was made against revision ${body.base}, but the store is at ${live.head.revision}.`,
        )
      }
      const { tree } = await parseConfig(body.yaml, live)
      assertKnownReferences(tree.resources, live.resources)
      const agreed = plan(live, tree)
      if (agreed.counts.delete > body.allow_deletes) {
        throw new ApiError(
          'too_many_deletes',
          `It would delete ${agreed.counts.delete} resources, and ${body.allow_deletes} are allowed.`,
        )
      }
      if (!body.skip_probe) await probeAll(agreed, tree, live)
      const applied = await apply(store.withAuthority(authority), agreed, tree, {
        origin: 'rest',
        author,
        check,
      })
      return { ...applied, set: tree.set }
    },
    rollBack: (revision, { author, authority }) =>
      rollBack(store.withAuthority(authority), revision, { origin: 'rest', author, check }),
  }

  /** @throws {ProbeError} probe_failed */
  async function probeAll(agreed: Plan, tree: Tree, live: Live): Promise<void> {
    const orders = probeOrders(agreed, live.resources, resourcesAfter(agreed, live.resources, tree))
    const verdicts = await Promise.all(orders.map(order => ports.probe(order)))
    const failures = orders.flatMap(({ endpoint, models }, index) => {
      const verdict = verdicts[index]
      if (!verdict || verdict.ok) return []
      return [{ endpoint: endpoint.name, model: models[0] ?? '', cause: verdict.cause, hint: verdict.hint }]
    })
    if (failures.length > 0) throw new ProbeError(failures)
  }
}

/**
 * Parses and validates a document. No variable is filled in: the variables of this process must not leak to the
 * sender.
 * @throws {ApiError} configuration_invalid, with every problem.
 */
async function parseConfig(
  yaml: string,
  live: Live,
): Promise<{ readonly tree: Tree; readonly warnings: readonly Problem[] }> {
  const readStdin = () => Promise.resolve(Buffer.from(yaml))
  const loaded = await load(['-'], { environment: {}, readStdin, known: knownOutside(live) })
  if (loaded.ok) return { tree: loaded.tree, warnings: loaded.problems }
  throw new ApiError('configuration_invalid', undefined, {
    more: { problems: loaded.problems.map(problemBody) },
  })
}

function problemBody(problem: Problem) {
  return { ...problemJson(problem) }
}
