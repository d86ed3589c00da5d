import { CommandError } from '../../base/catalogue/command.ts'
import { accountOf, underNewNames } from '../../store/renames.ts'
import { replacedIn } from '../../store/replaced.ts'
import { resourceId } from '../../store/resources.ts'
import { useOf } from '../../store/stored-credentials.ts'
import type { Counts, Live, Store, StoredResource } from '../../store/types.ts'
import { changesBetween } from './between.ts'
import type { Author } from './manual-changes.ts'
import { liveUnderNewNames } from './renames.ts'
import type { Plan, PlanWarning } from './types.ts'
import { planWarnings } from './warnings.ts'

/** The result of a rollback. */
export interface RolledBack {
  readonly revision: number
  readonly counts: Counts
}

/** The plan and the writes of a rollback. */
export interface Rollback {
  readonly plan: Plan
  /** The full state of the earlier revision. */
  readonly wanted: readonly StoredResource[]
  /** The resources to write, including those that only follow a rename, which are not listed as changes. */
  readonly puts: readonly StoredResource[]
  /** Keys and tenants whose name an earlier account takes back. */
  readonly replaced: readonly StoredResource[]
}

/**
 * Plans the return to the state of a revision, over all owners: half of a state was never in use.
 *
 * @throws {CommandError} not_found if the revision does not exist.
 */
export async function planRollback(store: Store, live: Live, to: number): Promise<Rollback> {
  const wanted = await store.resourcesAt(to)
  const { changes, counts, renames } = changesBetween(live.resources, wanted)
  const now = liveUnderNewNames(live, renames, () => true)
  const replaced = replacedIn(now.resources, wanted)
  const accounts = new Set(wanted.flatMap(each => (each.kind === 'tenant' ? [accountOf(each)] : [])))
  const isKept = (tenant: string) =>
    now.resources.some(
      each => each.kind === 'tenant' && each.name === tenant && accounts.has(accountOf(each)),
    )
  const plan: Plan = {
    base: live.head.revision,
    set: '',
    restores: to,
    changes,
    renames,
    dependents: [],
    counts,
    warnings: [
      ...planWarnings(now, wanted, wanted, now.resources).filter(
        ({ code, name }) => code !== 'wallet_left' || !isKept(name),
      ),
      ...replaced.map(warningOf),
      ...(await stayDisabled(store, now.resources, wanted)),
      ...usableAgain(now.resources, wanted),
      ...withoutCredential(live, wanted),
    ],
    unmanaged: { otherSets: 0, cli: 0, rest: 0 },
  }
  const changed = new Set([...changes.map(resourceId), ...renames.map(({ kind, to }) => `${kind}/${to}`)])
  const current = underNewNames(live.resources, renames)
  const specs = new Map(current.map(resource => [resourceId(resource), JSON.stringify(resource.spec)]))
  const puts = wanted.filter(resource => {
    const id = resourceId(resource)
    return changed.has(id) || specs.get(id) !== JSON.stringify(resource.spec)
  })
  return { plan, wanted, puts, replaced }
}

function warningOf({ kind, name }: StoredResource): PlanWarning {
  const ends =
    kind === 'key'
      ? 'its secrets end, and those of the earlier key stay ended: `gw keys issue` makes a new one'
      : 'its users are disabled and its tokens deleted; those of the earlier tenant stay so: `gw users enable`'
  const message = `another ${kind} has this name now, and gives way to the earlier one with its usage and its balance: ${ends}`
  return { code: 'replaced', kind, name, message }
}

/**
 * Executes a rollback, as a new revision. Secrets of keys that were deleted meanwhile stay ended. Without differences
 * nothing is written.
 *
 * @throws {CommandError} revision_changed if the store has changed meanwhile, not_servable if a gateway could not serve the result.
 */
export async function executeRollback(
  store: Store,
  { plan, puts }: Rollback,
  { author, check }: Pick<Author, 'author' | 'check'>,
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
        // Restores its ledger account, even if another resource has taken its name meanwhile.
        account,
        ...(set !== undefined && { set }),
        ...(place && { place }),
      })),
      deletes: changes.filter(({ action }) => action === 'delete').map(({ kind, name }) => ({ kind, name })),
    },
    async view => {
      const problems = (await check?.(await view.all())) ?? []
      if (problems.length > 0) throw new CommandError('not_servable', problems.join('\n'))
    },
  )
  return { revision: id, counts }
}

/** The users of tenants that come back: they were disabled with their tenant, which does not enable them again. */
async function stayDisabled(
  { users }: Pick<Store, 'users'>,
  now: readonly StoredResource[],
  wanted: readonly StoredResource[],
): Promise<PlanWarning[]> {
  const existing = new Set(now.map(resourceId))
  const back = wanted.filter(each => each.kind === 'tenant' && !existing.has(resourceId(each)))
  if (back.length === 0) return []
  const disabled = (await users.users()).filter(({ enabled }) => !enabled)
  return back.flatMap(({ kind, name }): PlanWarning[] => {
    const names = disabled.filter(({ tenant }) => tenant === name).map(user => user.name)
    if (names.length === 0) return []
    const message = `its users stay disabled: ${names.join(', ')}; \`gw users enable NAME\` lets one log in again`
    return [{ code: 'users_stay_disabled', kind, name, message }]
  })
}

/** Keys that files have disabled since: perhaps because their secret was lost. */
function usableAgain(now: readonly StoredResource[], wanted: readonly StoredResource[]): PlanWarning[] {
  const disabled = new Set(
    now.flatMap(({ kind, name, spec }) => (kind === 'key' && spec['enabled'] === false ? [name] : [])),
  )
  return wanted.flatMap(({ kind, name, spec }): PlanWarning[] => {
    if (kind !== 'key' || spec['enabled'] === false || !disabled.has(name)) return []
    return [{ code: 'usable_again', kind, name, message: 'it is disabled now, and its secrets work again' }]
  })
}

/** A credential that was set over REST is deleted with its endpoint, or when files take it over. */
function withoutCredential({ kept = [] }: Live, wanted: readonly StoredResource[]): PlanWarning[] {
  const stored = new Set(kept.map(({ boundTo }) => boundTo))
  return wanted.flatMap((resource): PlanWarning[] => {
    const use = useOf(resource)
    if (!use || stored.has(use.boundTo)) return []
    const message =
      'its credential, which was set over REST, is deleted by now: this rollback will be rejected'
    return [{ code: 'no_credential', kind: 'endpoint', name: resource.name, message }]
  })
}
