import { CommandError } from '../base/catalogue/command.ts'
import { load } from '../config/load.ts'
import { render } from '../config/render.ts'
import type { Problem, Tree } from '../config/types.ts'
import type { Json } from '../schema/kinds.ts'
import type { Live } from '../store/types.ts'
import { adoptions } from './adoption.ts'
import { record } from './audit.ts'
import { apply } from './changes/apply.ts'
import { blastRadius } from './changes/blast/radius.ts'
import type { BlastRadius } from './changes/blast/types.ts'
import { NEVER_USED } from './changes/blast/use.ts'
import { exportSet, knownOutside } from './changes/export.ts'
import { plan } from './changes/plan.ts'
import { probeOrders, resourcesAfter } from './changes/probe-orders.ts'
import { ProbeError } from './changes/rejections.ts'
import type { Applied, Plan } from './changes/types.ts'
import type { AppPorts, Context } from './context.ts'
import { documentOf } from './document.ts'
import { firstCallWarnings } from './first-calls.ts'
import { ConfigurationInvalid } from './invalid.ts'
import { type ProbeOptions, type ProbeRow, probeRound, roundPorts } from './probe-round.ts'
import { recentUse } from './recent-use.ts'
import { type Authorship, authorship } from './revision-author.ts'
import { type CommandStore, localContext } from './stored.ts'

/** The set of a tree that declares none. */
const DEFAULT_SET = 'default'

/** A valid tree of files, with the warnings about it. */
export interface Valid {
  readonly tree: Tree
  readonly warnings: readonly Problem[]
}

export interface Planned extends Valid {
  readonly plan: Plan
}

/** A plan with its impact on callers. */
export interface PlanWithImpact extends Planned {
  readonly radius: BlastRadius
}

/** Accepts a plan by returning, rejects it by throwing. */
export type Review = (planned: Planned) => Promise<void>

/** The live state of a set, as a file to keep. */
export interface Exported {
  readonly yaml: string
  /** The same as data. Written as JSON it is a configuration file, too. */
  readonly document: { readonly [member: string]: Json }
}

/**
 * Checks files on their own. Opens no store and no socket, reads no secret, writes nothing.
 * @throws {ConfigurationInvalid} with every problem of every file.
 */
export async function validateConfiguration(paths: readonly string[], ports: AppPorts): Promise<Valid> {
  const { tree, warnings } = await loadTree(paths, new Set(), ports)
  return { tree, warnings: [...warnings, ...(await firstCallWarnings(tree, ports))] }
}

/** The resources of a store that a tree of files may take over. */
export interface PlanOptions {
  /** As `kind/name`; see `adoptions`. */
  readonly adopt?: readonly string[]
}

/**
 * The changes that an apply would make. A store that does not exist yet counts as empty, and is not created.
 * @throws {ConfigurationInvalid} and {@link CommandError} store_…, owned_by_other, not_found, still_referenced, usage
 */
export async function planConfiguration(
  paths: readonly string[],
  stored: CommandStore,
  ports: AppPorts,
  options: PlanOptions = {},
): Promise<PlanWithImpact> {
  const live = await stored.live()
  return planWithImpact(await planned(paths, live, ports, options), live, stored)
}

/** Adds the impact on callers to a plan. */
export async function planWithImpact(
  ready: Planned,
  live: Live,
  stored: CommandStore,
): Promise<PlanWithImpact> {
  const after = resourcesAfter(ready.plan, live.resources, ready.tree)
  const store = await stored.existing()
  const use = store ? recentUse(store) : NEVER_USED
  return { ...ready, radius: await blastRadius(live, after, ready.plan.renames, use) }
}

export interface ApplyOptions {
  /** Receives the plan with its impact before any probe, and may reject it by throwing. */
  readonly preview?: (planWithImpact: PlanWithImpact) => Promise<void>
  /** Absent: nothing is probed. */
  readonly probe?: ProbeOptions
}

/** An applied plan. */
export interface ApplyResult {
  readonly planned: Planned
  readonly probed: readonly ProbeRow[]
  readonly applied: Applied
}

/**
 * Makes the store match the files.
 *
 *     load               configuration_invalid
 *       ▼
 *     plan               owned_by_other, still_referenced
 *       ▼
 *     preview            confirmation_required, too_many_deletes
 *       ▼
 *     probe              probe_failed
 *       ▼
 *     review, author     not_confirmed
 *       ▼
 *     one transaction    revision_changed, owned_by_other, still_referenced, not_servable
 *       ▼
 *     revision base + 1
 *
 * Nothing is locked or created during probes and review; the transaction detects concurrent changes (revision_changed). Without
 * changes nothing is written.
 */
export async function applyConfiguration(
  paths: readonly string[],
  stored: CommandStore,
  ports: AppPorts,
  review: Review,
  options: ApplyOptions & PlanOptions = {},
): Promise<ApplyResult> {
  const live = await stored.live()
  const ready = await planned(paths, live, ports, options)
  return execute(
    { ready, live, paths, author: () => authorship(paths, ports) },
    stored,
    ports,
    review,
    options,
  )
}

/** A plan, the state it was made against, and its origin. */
export interface PreparedChange {
  readonly ready: Planned
  readonly live: Live
  readonly paths: readonly string[]
  readonly author: () => Promise<Authorship>
}

/** From the preview on; see {@link applyConfiguration}. */
export async function execute(
  { ready, live, paths, author }: PreparedChange,
  stored: CommandStore,
  ports: AppPorts,
  review: Review,
  { preview, probe }: ApplyOptions,
): Promise<ApplyResult> {
  const { plan: agreed, tree } = ready
  if (preview) await preview(await planWithImpact(ready, live, stored))
  const probed = probe ? await probeNewEndpoints(paths, live, stored.url, ready, ports, probe) : []
  await review(ready)
  if (agreed.changes.length === 0) {
    return { planned: ready, probed, applied: { revision: agreed.base, counts: agreed.counts } }
  }
  const by = await author()
  ports.signal.throwIfAborted()
  const context = localContext(await stored.created(), ports)
  const applied = await apply(context.store, agreed, tree, {
    origin: 'apply',
    ...by,
    check: context.check,
  })
  const change = { action: 'apply_config', target: `set/${tree.set}`, revision: applied.revision } as const
  await record(context, change)
  return { planned: ready, probed, applied }
}

/** @throws {ProbeError} with every endpoint that does not answer. */
async function probeNewEndpoints(
  paths: readonly string[],
  live: Live,
  storeUrl: string,
  { plan: agreed, tree }: Planned,
  ports: AppPorts,
  options: ProbeOptions,
): Promise<readonly ProbeRow[]> {
  const orders = probeOrders(agreed, live.resources, resourcesAfter(agreed, live.resources, tree))
  if (orders.length === 0) return []
  const rows = await probeRound(orders, roundPorts(paths, live, storeUrl, ports, options))
  const failures = rows.flatMap(row => {
    if (row.state !== 'failed') return []
    const { endpoint, model, diagnosis } = row
    return [{ endpoint, model, cause: diagnosis.cause, hint: diagnosis.hint }]
  })
  if (failures.length > 0) throw new ProbeError(failures)
  return rows
}

/**
 * @param set absent: the only set in the store.
 * @throws {CommandError} store_…, not_found if the set does not exist, usage if the store has several sets and none was
 * named.
 */
export async function exportConfiguration(
  { store }: Pick<Context, 'store'>,
  { set }: { readonly set: string | undefined },
): Promise<Exported> {
  return exportOf(set, await store.live())
}

/** The same for a state that is already loaded. @throws {CommandError} not_found, usage */
export function exportOf(set: string | undefined, live: Live): Exported {
  const chosen = chooseSet(set, live)
  const resources = exportSet(live, chosen)
  return { yaml: render(chosen, resources), document: documentOf(chosen, resources) }
}

async function planned(
  paths: readonly string[],
  live: Live,
  ports: AppPorts,
  { adopt = [] }: PlanOptions,
): Promise<Planned> {
  // The set is known only after the files are read, so the files may refer to any existing resource. The plan finds
  // references to resources that the tree itself would delete.
  const valid = await loadTree(paths, knownOutside(live), ports)
  return { ...valid, plan: plan(live, valid.tree, adoptions(adopt, valid.tree, live)) }
}

/** Loads the tree of the files at `paths`. The files may refer to `known` names. @throws {ConfigurationInvalid} */
export async function loadTree(
  paths: readonly string[],
  known: ReadonlySet<string>,
  ports: AppPorts,
): Promise<Valid> {
  const { environment, readStdin, signal, cwd } = ports
  const result = await load(paths, { environment, readStdin, known, folder: cwd })
  signal.throwIfAborted()
  if (!result.ok) throw new ConfigurationInvalid(result.problems)
  return { tree: result.tree, warnings: result.problems }
}

function chooseSet(wanted: string | undefined, live: Live): string {
  const sets = [...new Set(live.resources.flatMap(resource => resource.set ?? []))].sort()
  const [only = DEFAULT_SET] = sets
  if (wanted === undefined) {
    if (sets.length < 2) return only
    throw new CommandError('usage', 'The store has several sets, and an export covers one.', {
      hint: `Pass --set with one of these: ${sets.join(', ')}.`,
    })
  }
  if (sets.includes(wanted)) return wanted
  throw new CommandError('not_found', `There is no set ${wanted} in the store.`, {
    hint: sets.length > 0 ? `Pass --set with one of these: ${sets.join(', ')}.` : 'Nothing was applied yet.',
  })
}
