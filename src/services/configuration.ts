import { CommandError } from '../base/catalogue/command.ts'
import { problemJson } from '../config/format.ts'
import { load } from '../config/load.ts'
import { render } from '../config/render.ts'
import type { LoadPorts, Problem, Tree } from '../config/types.ts'
import type { OperationOf } from '../schema/api/operations.ts'
import type { AnswerOf } from '../schema/api/types.ts'
import type { Json } from '../schema/kinds.ts'
import type { Live, Store } from '../store/types.ts'
import { record } from './audit.ts'
import { apply } from './changes/apply.ts'
import { blastRadius } from './changes/blast/radius.ts'
import type { BlastRadius } from './changes/blast/types.ts'
import { NEVER_USED, recentUse } from './changes/blast/use.ts'
import { documentOf, exportSet, knownOutside } from './changes/export.ts'
import { adoptions } from './changes/ownership.ts'
import { plan } from './changes/plan.ts'
import { planToJson } from './changes/plan-json.ts'
import { probeOrders, resourcesAfter } from './changes/probe-orders.ts'
import { ProbeError } from './changes/rejections.ts'
import type { Applied, Plan, ProbeOrder } from './changes/types.ts'
import type { AppPorts, ChangeContext, Context } from './context.ts'
import { firstCallWarnings } from './first-calls.ts'
import { ConfigurationInvalid } from './invalid.ts'
import {
  failedProbes,
  type ProbeOptions,
  type ProbeRow,
  probeRound,
  probeToJson,
  roundPorts,
} from './probe-round.ts'
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

/** The store that a configuration is planned against. The one of a command may not exist yet. */
export interface ConfiguredStore {
  /** Undefined if it does not exist yet. */
  existing(): Promise<Store | undefined>
  /** An empty state if it does not exist yet. */
  live(): Promise<Live>
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
  stored: ConfiguredStore,
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
  /** Absent without a preview. */
  readonly radius?: BlastRadius
  readonly probed: readonly ProbeRow[]
  readonly applied: Applied
}

/** Makes the store match the files; see {@link execute}. */
export async function applyConfiguration(
  paths: readonly string[],
  stored: CommandStore,
  ports: AppPorts,
  review: Review,
  options: ApplyOptions & PlanOptions = {},
): Promise<ApplyResult> {
  const live = await stored.live()
  const ready = await planned(paths, live, ports, options)
  const change = { ready, live, author: () => authorship(paths, ports) }
  return execute(change, localRun(paths, live, stored, ports, review, options))
}

/** A plan, the state it was made against, and its author. */
export interface PreparedChange {
  readonly ready: Planned
  readonly live: Live
  readonly author: () => Promise<Authorship>
}

/** What executes a plan: a command, a gateway that follows files, or a request over REST. */
export interface ChangeRun {
  readonly stored: ConfiguredStore
  /** The context of the commit. Creates the store if it is missing. */
  readonly context: () => Promise<ChangeContext>
  readonly signal: AbortSignal
  readonly preview?: ((planWithImpact: PlanWithImpact) => Promise<void>) | undefined
  /** Absent: nothing is probed. */
  readonly probe?: ((orders: readonly ProbeOrder[]) => Promise<readonly ProbeRow[]>) | undefined
  readonly review: Review
}

/** The run of a command on this machine. */
export function localRun(
  paths: readonly string[],
  live: Live,
  stored: CommandStore,
  ports: AppPorts,
  review: Review,
  { preview, probe }: ApplyOptions,
): ChangeRun {
  return {
    stored,
    context: async () => localContext(await stored.created(), ports),
    signal: ports.signal,
    preview,
    probe: probe && (orders => probeRound(orders, roundPorts(paths, live, stored.url, ports, probe))),
    review,
  }
}

/**
 * Makes the store match a planned tree.
 *
 *     load, plan         configuration_invalid, owned_by_other, still_referenced
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
 * Nothing is locked or created during probes and review; the transaction detects concurrent changes (revision_changed).
 * Without changes nothing is written.
 */
export async function execute(
  { ready, live, author }: PreparedChange,
  { stored, context: contextOf, signal, preview, probe, review }: ChangeRun,
): Promise<ApplyResult> {
  const { plan: agreed, tree } = ready
  const shown = preview && (await planWithImpact(ready, live, stored))
  if (shown) await preview(shown)
  const result = { planned: ready, ...(shown && { radius: shown.radius }) }
  const probed = probe ? await probeNewEndpoints(live, ready, probe) : []
  await review(ready)
  if (agreed.changes.length === 0) {
    return { ...result, probed, applied: { revision: agreed.base, counts: agreed.counts } }
  }
  const by = await author()
  signal.throwIfAborted()
  const context = await contextOf()
  const { store, actor, check } = context
  const origin = actor.origin === 'rest' ? 'rest' : 'apply'
  const applied = await apply(store, agreed, tree, { origin, ...by, check })
  await record(context, { action: 'apply_config', target: `set/${tree.set}`, revision: applied.revision })
  return { ...result, probed, applied }
}

/** @throws {ProbeError} with every endpoint that does not answer. */
async function probeNewEndpoints(
  live: Live,
  { plan: agreed, tree }: Planned,
  probe: NonNullable<ChangeRun['probe']>,
): Promise<readonly ProbeRow[]> {
  const orders = probeOrders(agreed, live.resources, resourcesAfter(agreed, live.resources, tree))
  if (orders.length === 0) return []
  const rows = await probe(orders)
  const failures = failedProbes(rows)
  if (failures.length > 0) throw new ProbeError(failures)
  return rows
}

/** The document of a check. */
export function validToJson({ tree, warnings }: Valid): AnswerOf<OperationOf<'validate_config'>> {
  return {
    valid: true,
    set: tree.set,
    files: tree.files.length,
    resources: tree.resources.length,
    problems: warnings.map(problem => ({ ...problemJson(problem) })),
  }
}

/** The document of an apply. */
export function appliedToJson({
  planned: { plan: agreed },
  radius,
  probed,
  applied,
}: ApplyResult): AnswerOf<OperationOf<'apply_config'>> {
  return {
    applied: agreed.changes.length > 0,
    revision: applied.revision,
    plan: planDocument(agreed, radius),
    probes: probed.map(probeToJson),
  }
}

/** The document of a plan. */
export function planDocument(agreed: Plan, radius?: BlastRadius): AnswerOf<OperationOf<'plan_config'>> {
  // Matches the schema's type, which is written separately from the plan's.
  return planToJson(agreed, radius) as unknown as AnswerOf<OperationOf<'plan_config'>>
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

/**
 * The same for a document from the network. Variables are rejected: those of this process must not leak to the sender,
 * and a default would silently replace what the files mean.
 * @param assertAllowed rejects the tree by throwing, before it is planned.
 */
export async function plannedDocument(
  yaml: string,
  live: Live,
  signal: AbortSignal,
  assertAllowed: (tree: Tree) => void,
): Promise<Planned> {
  const valid = await loadDocument(yaml, live, signal)
  assertAllowed(valid.tree)
  return { ...valid, plan: plan(live, valid.tree) }
}

/** Loads a document from the network. @throws {ConfigurationInvalid} */
export function loadDocument(yaml: string, live: Live, signal: AbortSignal): Promise<Valid> {
  const readStdin = () => Promise.resolve(Buffer.from(yaml))
  return loadTree(['-'], knownOutside(live), { environment: null, readStdin, signal })
}

/** Loads the tree of the files at `paths`. The files may refer to `known` names. @throws {ConfigurationInvalid} */
export async function loadTree(
  paths: readonly string[],
  known: ReadonlySet<string>,
  {
    environment,
    readStdin,
    signal,
    cwd,
  }: Pick<LoadPorts, 'environment'> & Pick<AppPorts, 'readStdin' | 'signal'> & Partial<Pick<AppPorts, 'cwd'>>,
): Promise<Valid> {
  const result = await load(paths, {
    environment,
    readStdin,
    known,
    ...(cwd !== undefined && { folder: cwd }),
  })
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
