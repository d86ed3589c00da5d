import { CommandError } from '../base/catalogue/command.ts'
import type { Clock } from '../base/clock.ts'
import { assertFewDeletes } from '../services/changes/delete-guard.ts'
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
import { followers, rollBackTo, rollbackToJson } from '../services/history.ts'
import type { ProbeRow } from '../services/probe-round.ts'
import type { Live, Store } from '../store/types.ts'
import type { ChangeAuthor, Configurations } from './ports.ts'
import { assertKnownReferences } from './remote-references.ts'

export interface ConfigurationPorts {
  readonly store: Store
  readonly clock: Clock
  readonly check: Check
  readonly probe: (orders: readonly ProbeOrder[]) => Promise<readonly ProbeRow[]>
  readonly signal: AbortSignal
}

/** Processes configurations on a store, in this thread. */
export function configurationsOn({ store, clock, check, probe, signal }: ConfigurationPorts): Configurations {
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
    async apply({ yaml, base, allow_deletes, skip_probe }, by) {
      const live = await store.live()
      if (live.head.revision !== base) {
        throw new CommandError(
          'revision_changed',
          `The plan was made against revision ${base}, but the store is at ${live.head.revision}.`,
        )
      }
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
    async rollBack(revision, by) {
      const context = contextOf(by)
      const following = await followers({ store, clock })
      return rollbackToJson(await rollBackTo(context, revision), following)
    },
  }
}
