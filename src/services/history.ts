import { iso } from '../base/iso.ts'
import type { OperationOf } from '../schema/api/operations.ts'
import type { AnswerOf } from '../schema/api/types.ts'
import type { Resource } from '../schema/kinds.ts'
import type { Revision } from '../store/types.ts'
import { record } from './audit.ts'
import { changesBetween, type Difference } from './changes/between.ts'
import { blastRadius } from './changes/blast/radius.ts'
import type { BlastRadius } from './changes/blast/types.ts'
import { recentUse } from './changes/blast/use.ts'
import { changesToJson } from './changes/plan-json.ts'
import { executeRollback, planRollback, type RolledBack } from './changes/rollback.ts'
import type { Plan } from './changes/types.ts'
import { type Exported, exportOf, planDocument } from './configuration.ts'
import type { ChangeContext, Context } from './context.ts'
import { isAlive } from './gateways.ts'
import { idBefore, type Page, type PageQuery, pageOf } from './paging.ts'

const DIRTY = '-dirty'

/** The document of a revision. */
export type RevisionShown = AnswerOf<OperationOf<'list_revisions'>>['data'][number]

/** The revisions, newest first. */
export function listRevisions(
  { store }: Pick<Context, 'store'>,
  query: PageQuery,
): Promise<Page<RevisionShown>> {
  return pageOf(
    query,
    (limit, mark) => store.revisions({ limit, ...idBefore(mark) }),
    revision => revision.id,
    revisionToJson,
  )
}

function revisionToJson(revision: Revision): RevisionShown {
  const { id, base, origin, set, author, restores, createdAtMs, counts, gitCommit } = revision
  const dirty = gitCommit?.endsWith(DIRTY) === true
  return {
    id,
    base,
    origin,
    ...(restores !== undefined && { restores }),
    ...(set !== undefined && { set }),
    ...(author !== undefined && { author }),
    ...(gitCommit !== undefined && { git_commit: withoutMark(gitCommit), dirty }),
    created_at: iso(createdAtMs),
    counts: { ...counts },
  }
}

/** The commit that a revision was applied from; undefined if none is known, or if the revision is no longer kept. */
export async function commitOfRevision(
  store: Pick<Context['store'], 'revisions'>,
  id: number,
): Promise<string | undefined> {
  const [revision] = await store.revisions({ limit: 1, before: id + 1 })
  const { gitCommit } = revision?.id === id ? revision : {}
  return gitCommit === undefined ? undefined : withoutMark(gitCommit)
}

function withoutMark(gitCommit: string): string {
  return gitCommit.endsWith(DIRTY) ? gitCommit.slice(0, -DIRTY.length) : gitCommit
}

/** A revision with its changes. @throws {CommandError} not_found */
export async function revisionChanges(
  context: Pick<Context, 'store'>,
  of: RevisionQuery,
): Promise<AnswerOf<OperationOf<'get_revision'>>> {
  const { revision, changes } = await showRevision(context, of)
  // Matches the schema's type, which is written separately from the plan's.
  const since = of.since === undefined ? {} : { since: of.since }
  return { ...revision, ...since, changes: changesToJson(changes) } as unknown as AnswerOf<
    OperationOf<'get_revision'>
  >
}

export interface ShownRevision extends Difference {
  readonly revision: RevisionShown
  /** The full state at that revision. */
  readonly resources: readonly Resource[]
}

/** A revision, and the one that it is compared with: by default that before it. */
export interface RevisionQuery {
  readonly id: number
  readonly since?: number | undefined
}

/** The changes of a revision. @throws {CommandError} not_found */
export async function showRevision(
  { store }: Pick<Context, 'store'>,
  { id, since }: RevisionQuery,
): Promise<ShownRevision> {
  const revision = await store.revision(id)
  const [before, after] = [await store.resourcesAt(since ?? revision.base), await store.resourcesAt(id)]
  return { revision: revisionToJson(revision), resources: after, ...changesBetween(before, after) }
}

/**
 * The files that would produce the state of a revision.
 * @throws {CommandError} not_found; usage if the store has several sets and none was named.
 */
export async function exportRevision(
  { store }: Pick<Context, 'store'>,
  { id, set }: { readonly id: number; readonly set: string | undefined },
): Promise<Exported> {
  return exportOf(set, { ...(await store.live()), resources: await store.resourcesAt(id) })
}

/** A plan of a rollback, with its impact on callers. */
export interface RollbackWithImpact {
  readonly plan: Plan
  readonly radius: BlastRadius
  /** The full state after the rollback. */
  readonly resources: readonly Resource[]
}

export interface RollbackResult extends RollbackWithImpact {
  readonly done: RolledBack
}

/** The document of a rollback; without a result that of its plan. */
export function rollbackToJson(
  { plan, radius, done }: RollbackWithImpact & Partial<RollbackResult>,
  following: readonly Follower[],
): AnswerOf<OperationOf<'roll_back'>> {
  return {
    applied: done !== undefined && plan.changes.length > 0,
    revision: done?.revision ?? plan.base,
    plan: planDocument(plan, radius),
    ...(following.length > 0 && {
      followed_files: following.map(({ gateway, paths, watch }) => ({ gateway, paths: [...paths], watch })),
    }),
  }
}

/**
 * Restores the full state of a revision, as a new revision.
 *
 *     plan               not_found
 *       ▼
 *     review             not_confirmed, too_many_deletes
 *       ▼
 *     one transaction    revision_changed, not_servable
 *       ▼
 *     revision base + 1
 *
 * Nothing is probed: the restored configuration has been served before, and a rollback should not wait for an
 * upstream.
 *
 * @param review receives the plan and rejects by throwing.
 * @throws {CommandError} store_… and the codes above.
 */
export async function rollBackTo(
  context: ChangeContext,
  to: number,
  review: (rollback: RollbackWithImpact) => Promise<void> = () => Promise.resolve(),
): Promise<RollbackResult> {
  const { store, actor, check, signal } = context
  const { planned, rollback } = await prepareRollback(context, to)
  await review(rollback)
  signal.throwIfAborted()
  const author = actor.name === undefined ? {} : { author: actor.name }
  const done = await executeRollback(store, planned, { ...author, check })
  if (rollback.plan.changes.length > 0)
    await record(context, { action: 'roll_back', target: `revision/${to}`, revision: done.revision })
  return { ...rollback, done }
}

/** The plan of {@link rollBackTo}. @throws {CommandError} not_found */
export async function planRollbackTo(
  context: Pick<Context, 'store'>,
  to: number,
): Promise<RollbackWithImpact> {
  return (await prepareRollback(context, to)).rollback
}

async function prepareRollback({ store }: Pick<Context, 'store'>, to: number) {
  const live = await store.live()
  const planned = await planRollback(store, live, to)
  const radius = await blastRadius(live, planned.wanted, planned.plan.renames, recentUse(store))
  const replacedKeys = planned.replaced.filter(({ kind }) => kind === 'key').length
  const rollback: RollbackWithImpact = {
    plan: planned.plan,
    radius: { ...radius, brokenKeys: radius.brokenKeys + replacedKeys },
    resources: planned.wanted,
  }
  return { planned, rollback }
}

/** A running gateway that applies files automatically. */
export interface Follower {
  /** Its address, or its machine. */
  readonly gateway: string
  readonly paths: readonly string[]
  /** True: on each save. False: at its start and on SIGHUP. */
  readonly watch: boolean
}

/** The running gateways that will overwrite changes missing from their files. */
export async function followers({
  store,
  clock,
}: Pick<Context, 'store' | 'clock'>): Promise<readonly Follower[]> {
  return (await store.gateways())
    .filter(gateway => isAlive(gateway, clock.nowMs()))
    .flatMap(({ follows, url, host }) => (follows ? [{ gateway: url ?? host, ...follows }] : []))
}
