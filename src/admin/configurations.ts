import { ApiError } from '../base/catalogue/api.ts'
import { CommandError } from '../base/catalogue/command.ts'
import type { Clock } from '../base/clock.ts'
import type { CanonicalSpec, Kind } from '../schema/kinds.ts'
import { recentUse } from '../services/changes/blast/use.ts'
import { assertFewDeletes } from '../services/changes/delete-guard.ts'
import { type PreviewPorts, previewChange } from '../services/changes/preview.ts'
import type { Check, ProbeOrder } from '../services/changes/types.ts'
import {
  appliedToJson,
  execute,
  loadDocument,
  planDocument,
  plannedDocument,
  planWithImpact,
  validToJson,
} from '../services/configuration.ts'
import type { ChangeContext } from '../services/context.ts'
import {
  commitOfRevision,
  followers,
  planRollbackTo,
  type RollbackWithImpact,
  rollBackTo,
  rollbackToJson,
} from '../services/history.ts'
import type { ProbeRow } from '../services/probe-round.ts'
import type { Live, Store } from '../store/types.ts'
import { patchedSpec } from './merge-patch.ts'
import type { ChangeAuthor, Configurations } from './ports.ts'
import { assertKnownReferences } from './remote-references.ts'

export interface ConfigurationPorts {
  readonly store: Store
  readonly clock: Clock
  readonly check: Check
  readonly probe: (orders: readonly ProbeOrder[]) => Promise<readonly ProbeRow[]>
  /** The text of a configuration file of this machine; undefined if it cannot be read. */
  readonly readFile: PreviewPorts['readFile']
  readonly signal: AbortSignal
}

/** Processes configurations on a store, in this thread. */
export function configurationsOn({
  store,
  clock,
  check,
  probe,
  readFile,
  signal,
}: ConfigurationPorts): Configurations {
  const stored = { existing: async () => store, live: () => store.live() }
  const prepared = async (yaml: string, live: Live) =>
    plannedDocument(yaml, live, signal, tree => assertKnownReferences(tree.resources, live.resources))
  const contextOf = ({ actor, authority }: ChangeAuthor): ChangeContext => ({
    store: store.withAuthority(authority),
    actor,
    check,
    signal,
    auditLog: store.users,
  })
  return {
    async validate(yaml) {
      return validToJson(await loadDocument(yaml, await store.live(), signal))
    },
    async plan(yaml) {
      const live = await store.live()
      const { plan, radius } = await planWithImpact(await prepared(yaml, live), live, stored)
      return planDocument(plan, radius)
    },
    async preview({ kind, name, patch }) {
      const live = await store.live()
      const old = live.resources.find(resource => resource.kind === kind && resource.name === name)
      if (!old && !patch) throw new ApiError('not_found', `There is no ${kind} ${name}.`)
      const after = patch && patchedSpec(kind, patch)(old?.spec ?? identityIn(kind, name))
      const wanted = { kind, name, ...(after && { after }) }
      const commitOf = (revision: number) => commitOfRevision(store, revision)
      return previewChange(live, wanted, { use: recentUse(store), readFile, commitOf })
    },
    async apply({ yaml, base, allow_deletes, skip_probe }, by) {
      const live = await store.live()
      assertAt(base, live.head.revision)
      const ready = await prepared(yaml, live)
      const author = async () => (by.actor.name === undefined ? {} : { author: by.actor.name })
      const result = await execute(
        { ready, live, author },
        {
          stored,
          context: async () => contextOf(by),
          signal,
          preview: async ({ plan }) => assertFewDeletes(plan, allow_deletes),
          ...(!skip_probe && { probe }),
          review: async () => undefined,
        },
      )
      return appliedToJson(result)
    },
    async rollBack({ revision, dry_run, base, allow_deletes }, by) {
      const context = contextOf(by)
      const following = await followers({ store, clock })
      if (dry_run) return rollbackToJson(await planRollbackTo(context, revision), following)
      const review = async ({ plan }: RollbackWithImpact) => {
        if (base !== undefined) assertAt(base, plan.base)
        assertFewDeletes(plan, allow_deletes)
      }
      return rollbackToJson(await rollBackTo(context, revision, review), following)
    },
  }
}

/** @throws {CommandError} revision_changed */
function assertAt(base: number, revision: number): void {
  if (revision === base) return
  throw new CommandError(
    'revision_changed',
    `The plan was made against revision ${base}, but the store is at ${revision}.`,
  )
}

/** The fields that the name of a binding stands for. */
function identityIn(kind: Kind, name: string): CanonicalSpec {
  if (kind !== 'binding') return {}
  const [publication = '', endpoint = ''] = name.split(' ')
  return { publication, endpoint }
}
