import { CommandError } from '../base/catalogue/command.ts'
import { underNewNames } from '../store/renames.ts'
import { resourceId } from '../store/resources.ts'
import type { Counts, Live, Store, StoredResource } from '../store/types.ts'
import { changesBetween } from './between.ts'
import type { Actor } from './manual-changes.ts'
import { liveUnderNewNames } from './renames.ts'
import type { Plan } from './types.ts'
import { planWarnings } from './warnings.ts'

/** What stands again, and what it took. */
export interface RolledBack {
  readonly revision: number
  readonly counts: Counts
}

/** What makes an earlier revision stand again. */
export interface Rollback {
  readonly plan: Plan
  /** All that stood then. */
  readonly wanted: readonly StoredResource[]
  /** Of it what has to be written: also what only follows a rename, which is no change to tell of. */
  readonly puts: readonly StoredResource[]
}

/**
 * What it would change to make all that stood at a revision stand again, of every owner: half of a state is none that
 * anybody has seen work.
 *
 * @throws {CommandError} GW4005 without such a revision.
 */
export async function planRollback(store: Store, live: Live, to: number): Promise<Rollback> {
  const wanted = await store.resourcesAt(to)
  const { changes, counts, renames } = changesBetween(live.resources, wanted)
  const now = liveUnderNewNames(live, renames, () => true)
  const plan: Plan = {
    base: live.head.revision,
    set: '',
    restores: to,
    changes,
    renames,
    dependents: [],
    counts,
    warnings: planWarnings(now, wanted, wanted, now.resources),
    unmanaged: { otherSets: 0, cli: 0, rest: 0 },
  }
  const changed = new Set([...changes.map(resourceId), ...renames.map(({ kind, to }) => `${kind}/${to}`)])
  const standing = underNewNames(live.resources, renames)
  const specs = new Map(standing.map(resource => [resourceId(resource), JSON.stringify(resource.spec)]))
  const puts = wanted.filter(resource => {
    const id = resourceId(resource)
    return changed.has(id) || specs.get(id) !== JSON.stringify(resource.spec)
  })
  return { plan, wanted, puts }
}

/**
 * Carries a rollback out, as a new revision. Secrets of keys that were deleted meanwhile have ended and stay so. Where
 * nothing differs nothing is written.
 *
 * @throws {CommandError} GW4001 where the store moved meanwhile, GW3002 where a gateway could not serve the result.
 */
export async function executeRollback(
  store: Store,
  { plan, puts }: Rollback,
  { author, check }: Pick<Actor, 'author' | 'check'>,
): Promise<RolledBack> {
  const { base, counts, changes, renames, restores } = plan
  if (changes.length === 0) return { revision: base, counts }
  const { id } = await store.commit(
    {
      base,
      origin: 'rollback',
      ...(restores !== undefined && { restores }),
      ...(author !== undefined && { author }),
      counts,
      renames,
      puts: puts.map(({ kind, name, spec, owner, set, place, account = name }) => ({
        kind,
        name,
        spec,
        owner,
        // What it had booked is its own again, whatever has come under its name meanwhile.
        account,
        ...(set !== undefined && { set }),
        ...(place && { place }),
      })),
      deletes: changes.filter(({ action }) => action === 'delete').map(({ kind, name }) => ({ kind, name })),
    },
    async view => {
      const problems = (await check?.(await view.all())) ?? []
      if (problems.length > 0) throw new CommandError('GW3002', problems.join('\n'))
    },
  )
  return { revision: id, counts }
}

/** Both at once, for whoever asks nobody. @throws what either throws. */
export async function rollBack(store: Store, to: number, actor: Actor): Promise<RolledBack> {
  return executeRollback(store, await planRollback(store, await store.live(), to), actor)
}
