import { CommandError } from '../base/catalogue/command.ts'
import { resourceId } from '../store/resources.ts'
import type { Counts, Revision, Store, StoredResource } from '../store/types.ts'
import type { Hand } from './by-hand.ts'

/** What stands again, and what it took. */
export interface RolledBack {
  readonly revision: number
  readonly counts: Counts
}

/**
 * Makes all that stood at a revision stand again, of every owner, as a new revision. Secrets of keys that were deleted
 * meanwhile have ended and stay so. Where nothing differs nothing is written.
 *
 * @throws {CommandError} GW4005 without such a revision, GW4001 where the store moved meanwhile, GW3002 where a
 * gateway could not serve it.
 */
export async function rollBack(store: Store, to: number, hand: Hand): Promise<RolledBack> {
  const wanted = await store.resourcesAt(to)
  const { head, resources } = await store.live()
  const standing = new Map(resources.map(resource => [resourceId(resource), resource]))
  const kept = new Set(wanted.map(resourceId))
  const changed = wanted.filter(resource => !isSame(resource, standing.get(resourceId(resource))))
  const deletes = resources.filter(resource => !kept.has(resourceId(resource)))
  const create = changed.filter(resource => !standing.has(resourceId(resource))).length
  const counts: Counts = {
    create,
    update: changed.length - create,
    delete: deletes.length,
    unchanged: wanted.length - changed.length,
  }
  if (changed.length + deletes.length === 0) return { revision: head.revision, counts }
  const { origin, author, check } = hand
  const { id }: Revision = await store.commit(
    {
      base: head.revision,
      origin,
      ...(author !== undefined && { author }),
      counts,
      puts: changed.map(({ kind, name, spec, owner, set, place }) => ({
        kind,
        name,
        spec,
        owner,
        ...(set !== undefined && { set }),
        ...(place && { place }),
      })),
      deletes: deletes.map(({ kind, name }) => ({ kind, name })),
    },
    async (_before, after) => {
      const problems = (await check?.(after)) ?? []
      if (problems.length > 0) throw new CommandError('GW3002', problems.join('\n'))
    },
  )
  return { revision: id, counts }
}

function isSame(wanted: StoredResource, standing: StoredResource | undefined): boolean {
  if (!standing || wanted.owner !== standing.owner || wanted.set !== standing.set) return false
  return JSON.stringify(wanted.spec) === JSON.stringify(standing.spec)
}
