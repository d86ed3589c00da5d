import { CommandError } from '../base/catalogue/command.ts'
import { apply } from '../changes/apply.ts'
import { blastRadius } from '../changes/blast/radius.ts'
import type { BlastRadius } from '../changes/blast/types.ts'
import { exportSet, knownOutside } from '../changes/export.ts'
import { plan } from '../changes/plan.ts'
import { probeOrders, standingAfter } from '../changes/probe-orders.ts'
import { ProbeError } from '../changes/rejections.ts'
import type { Applied, Plan } from '../changes/types.ts'
import { load } from '../config/load.ts'
import { render } from '../config/render.ts'
import type { Problem, Tree } from '../config/types.ts'
import type { Json } from '../schema/kinds.ts'
import type { Live } from '../store/types.ts'
import { adoptions } from './adoption.ts'
import { record } from './audit.ts'
import { documentOf } from './document.ts'
import { firstCallWarnings } from './first-calls.ts'
import { ConfigurationInvalid } from './invalid.ts'
import type { AppPorts } from './ports.ts'
import { type ProbeOptions, type ProbeRow, probeRound, roundPorts } from './probe-round.ts'
import { withRecentUse } from './recent-use.ts'
import { type Authorship, authorship } from './revision-author.ts'
import { wouldServe } from './serve-check.ts'
import { liveOrEmpty, withStore } from './stored.ts'

/** The set of a tree that names none. */
const DEFAULT_SET = 'default'

/** A tree of files that is valid, and what is doubtful about it. */
export interface Valid {
  readonly tree: Tree
  readonly warnings: readonly Problem[]
}

export interface Planned extends Valid {
  readonly plan: Plan
}

/** With what it means for those who call. */
export interface PlanWithImpact extends Planned {
  readonly radius: BlastRadius
}

/** Agrees to a plan by returning, rejects it by throwing. */
export type Review = (planned: Planned) => Promise<void>

/** The live state of a set, as a file to keep. */
export interface Exported {
  readonly yaml: string
  /** The same as data: written as JSON it is a configuration file, too. */
  readonly document: { readonly [member: string]: Json }
}

/**
 * Checks files by themselves. Opens no store and no socket, reads no secret, writes nothing.
 * @throws {ConfigurationInvalid} with every problem of every file.
 */
export async function validateConfiguration(paths: readonly string[], ports: AppPorts): Promise<Valid> {
  const { tree, warnings } = await loadTree(paths, new Set(), ports)
  return { tree, warnings: [...warnings, ...(await firstCallWarnings(tree, ports))] }
}

/** What of a store a tree of files may take over. */
export interface PlanOptions {
  /** As `kind/name`; see `adoptions`. */
  readonly adopt?: readonly string[]
}

/**
 * What an apply would change. A store that does not exist yet is an empty one, and stays uncreated.
 * @throws {ConfigurationInvalid} and {@link CommandError} GW2xxx, GW4004, GW4005, GW4010, GW6001
 */
export async function planConfiguration(
  paths: readonly string[],
  storeUrl: string,
  ports: AppPorts,
  wishes: PlanOptions = {},
): Promise<PlanWithImpact> {
  const live = await liveOrEmpty(storeUrl, 'read', ports)
  return planWithImpact(await planned(paths, live, ports, wishes), live, storeUrl, ports)
}

/** Adds to a plan what it means for those who call. */
export function planWithImpact(
  ready: Planned,
  live: Live,
  storeUrl: string,
  ports: AppPorts,
): Promise<PlanWithImpact> {
  const after = standingAfter(ready.plan, live.resources, ready.tree)
  return withRecentUse(storeUrl, ports, async use => ({
    ...ready,
    radius: await blastRadius(live, after, ready.plan.renames, use),
  }))
}

export interface ApplyOptions {
  /** Sees the plan and what it means before anybody is probed, and may reject it. */
  readonly preview?: (planWithImpact: PlanWithImpact) => Promise<void>
  /** Absent: nobody is probed. */
  readonly probe?: ProbeOptions
}

/** A plan that was carried out. */
export interface ApplyResult {
  readonly planned: Planned
  readonly probed: readonly ProbeRow[]
  readonly applied: Applied
}

/**
 * Brings the store to what the files say.
 *
 *     load ──▶ plan ──▶ preview ──▶ probe ──▶ review ──▶ author ──▶ one transaction ──▶ revision base + 1
 *       │        │         │          │         │                        │
 *     GW3001   GW4004    GW4002     GW5001    GW4003                GW4001 GW4004
 *              GW4010    GW4015                                     GW4010 GW3002
 *
 * While upstreams are asked and a person reviews, nothing is locked and nothing was created; what moves meanwhile is
 * seen by the transaction (GW4001). Without changes nothing is written.
 */
export async function applyConfiguration(
  paths: readonly string[],
  storeUrl: string,
  ports: AppPorts,
  review: Review,
  wishes: ApplyOptions & PlanOptions = {},
): Promise<ApplyResult> {
  const live = await liveOrEmpty(storeUrl, 'upgrade', ports)
  const ready = await planned(paths, live, ports, wishes)
  return execute(
    { ready, live, paths, author: () => authorship(paths, ports) },
    storeUrl,
    ports,
    review,
    wishes,
  )
}

/** A plan, against what it was made, and where it came from. */
export interface PreparedChange {
  readonly ready: Planned
  readonly live: Live
  readonly paths: readonly string[]
  readonly author: () => Promise<Authorship>
}

/** From the preview on; see {@link applyConfiguration}. */
export async function execute(
  { ready, live, paths, author }: PreparedChange,
  storeUrl: string,
  ports: AppPorts,
  review: Review,
  { preview, probe }: ApplyOptions,
): Promise<ApplyResult> {
  const { plan: agreed, tree } = ready
  if (preview) await preview(await planWithImpact(ready, live, storeUrl, ports))
  const probed = probe ? await probeWhatIsNew(paths, live, storeUrl, ready, ports, probe) : []
  await review(ready)
  if (agreed.changes.length === 0) {
    return { planned: ready, probed, applied: { revision: agreed.base, counts: agreed.counts } }
  }
  const by = await author()
  ports.signal.throwIfAborted()
  const applied = await withStore(storeUrl, 'create', ports, async store => {
    const actor = { origin: 'apply', ...by, check: wouldServe(ports.signal) } as const
    const done = await apply(store, agreed, tree, actor)
    await record(store, { action: 'apply_config', target: `set/${tree.set}`, revision: done.revision }, ports)
    return done
  })
  return { planned: ready, probed, applied }
}

/** @throws {ProbeError} with every endpoint that does not answer. */
async function probeWhatIsNew(
  paths: readonly string[],
  live: Live,
  storeUrl: string,
  { plan: agreed, tree }: Planned,
  ports: AppPorts,
  wishes: ProbeOptions,
): Promise<readonly ProbeRow[]> {
  const orders = probeOrders(agreed, live.resources, standingAfter(agreed, live.resources, tree))
  if (orders.length === 0) return []
  const rows = await probeRound(orders, roundPorts(paths, live, storeUrl, ports, wishes))
  const failures = rows.flatMap(row => {
    if (row.state !== 'failed') return []
    const { endpoint, model, diagnosis } = row
    return [{ endpoint, model, cause: diagnosis.cause, hint: diagnosis.hint }]
  })
  if (failures.length > 0) throw new ProbeError(failures)
  return rows
}

/**
 * @param set absent: the only one that there is.
 * @throws {CommandError} GW2xxx, GW4005 where there is no such set, GW6001 where several could be meant.
 */
export async function exportConfiguration(
  set: string | undefined,
  storeUrl: string,
  ports: AppPorts,
): Promise<Exported> {
  return exportOf(set, await withStore(storeUrl, 'read', ports, store => store.live()))
}

/** The same of a state that was read. @throws {CommandError} GW4005, GW6001 */
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
  // The set is known only when the files are read, so anything that stands may be referred to; what the tree
  // itself would delete although it refers to it is found by the plan.
  const valid = await loadTree(paths, knownOutside(live), ports)
  return { ...valid, plan: plan(live, valid.tree, adoptions(adopt, valid.tree, live)) }
}

/** The tree of the files at `paths`; names that are `known` may be referred to. @throws {ConfigurationInvalid} */
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
    throw new CommandError('GW6001', 'The store holds several sets, and an export is of one.', {
      hint: `Pass --set with one of these: ${sets.join(', ')}.`,
    })
  }
  if (sets.includes(wanted)) return wanted
  throw new CommandError('GW4005', `There is no set ${wanted} in the store.`, {
    hint: sets.length > 0 ? `Pass --set with one of these: ${sets.join(', ')}.` : 'Nothing was applied yet.',
  })
}
