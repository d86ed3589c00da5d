import { CommandError } from '../../base/catalogue/command.ts'
import { type CanonicalSpec, decode, type Kind, type Resource, sortKeys } from '../../schema/kinds.ts'
import type { StoredCredential } from '../../schema/stored-credential.ts'
import { compareResources, resourceId } from '../../store/resources.ts'
import type {
  Commit,
  CommitGuard,
  CommitView,
  Live,
  Revision,
  Store,
  StoredResource,
} from '../../store/types.ts'
import { similarNames } from '../names.ts'
import { assertReferences, references } from './ownership.ts'
import { ManagedError, ownerName, subject, UnknownReferenceError } from './rejections.ts'
import type { Check } from './types.ts'

/**
 * Resources that no file declares, created, changed and deleted one at a time by the command line or REST. Each change
 * is a revision of its own. `gw apply` does not touch these resources, and manual changes do not touch those of `gw
 * apply`.
 */

/** Retried without asking: no decision depends on the state between read and commit. */
const ATTEMPTS = 5
/** The kinds that keys and bindings refer to. */
const REFERRED_TO: ReadonlySet<Kind> = new Set(['endpoint', 'publication', 'tenant'])
const NONE = { create: 0, update: 0, delete: 0, unchanged: 0 }

/** The author of a change, with the check of the result. */
export interface Author {
  readonly origin: 'cli' | 'rest'
  readonly author?: string
  readonly check?: Check
  /** Sealed secrets that belong to the change. */
  readonly kept?: readonly StoredCredential[]
  /**
   * Rejects that a resource is created or deleted, by throwing. Called before each attempt, so that it judges the state that
   * is committed on.
   */
  readonly assertAllowed?: (() => Promise<void>) | undefined
}

/** A resource by name, with its expected version. */
export interface Target {
  readonly kind: Kind
  readonly name: string
  /** The `updatedRevision` that the change is based on; absent: any. */
  readonly version?: number | undefined
}

/**
 * @throws {CommandError} already_exists if the name is taken, not_servable if a gateway could not serve the result.
 * @throws {UnknownReferenceError} not_found
 */
export function createManually(store: Store, made: Resource, actor: Author): Promise<Revision> {
  return commitOnTop(store, actor, async () => {
    const { head, resources } = await store.find(identity(made))
    const [taken] = resources
    if (taken) {
      throw new CommandError(
        'already_exists',
        `There already is ${withArticle(made)}; it belongs to ${ownerName(taken)}.`,
      )
    }
    await actor.assertAllowed?.()
    const puts = [{ ...made, owner: actor.origin }]
    return { base: head.revision, counts: { ...NONE, create: 1 }, puts, deletes: [] }
  })
}

/**
 * @param edit returns the new spec of the resource; an equal spec writes nothing.
 * @returns the new revision, or undefined if nothing changed.
 * @throws {CommandError} not_found if the resource does not exist, revision_changed if it is no longer at `version`, not_servable
 * @throws {UnknownReferenceError} not_found
 * @throws {ManagedError} owned_by_other if a configuration file declares it.
 */
export async function changeManually(
  store: Store,
  target: Target,
  edit: (current: StoredResource) => CanonicalSpec,
  actor: Author,
): Promise<Revision | undefined> {
  const current = await readTarget(store, target)
  if (isSame(edit(current.resource), current.resource.spec)) return undefined
  let unused: typeof current | undefined = current
  return commitOnTop(store, actor, async () => {
    const { head, resource } = unused ?? (await readTarget(store, target))
    unused = undefined
    const { kind, name, owner } = resource
    const puts = [{ kind, name, owner, spec: edit(resource) }]
    return { base: head.revision, counts: { ...NONE, update: 1 }, puts, deletes: [] }
  })
}

/**
 * @throws {CommandError} not_found if the resource does not exist, revision_changed if it is no longer at `version`, still_referenced if
 * another resource refers to it.
 * @throws {ManagedError} owned_by_other if a configuration file declares it.
 */
export function deleteManually(store: Store, target: Target, actor: Author): Promise<Revision> {
  return commitOnTop(store, actor, async () => {
    const { head } = await readTarget(store, target)
    await actor.assertAllowed?.()
    const { kind, name } = target
    const counts = { ...NONE, delete: 1 }
    return { base: head.revision, counts, puts: [], deletes: [{ kind, name }], tenantUsers: 'reject' }
  })
}

/** Commits the result of `make` on the current state; retries after a concurrent commit. */
async function commitOnTop(
  store: Store,
  { origin, author, check, kept }: Author,
  make: () => Promise<Omit<Commit, 'origin' | 'author'>>,
): Promise<Revision> {
  const guard: CommitGuard = async view => {
    const gone = view.changed.flatMap(({ before, after }) => (before && !after ? [before] : []))
    if (gone.some(({ kind }) => REFERRED_TO.has(kind))) assertReferences(await view.all(), { resources: [] })
    const resources = await affectedResources(view)
    const problems = (await check?.(resources)) ?? []
    if (problems.length > 0) throw new CommandError('not_servable', problems.join('\n'))
  }
  for (let attempt = 1; ; attempt++) {
    const signed = { origin, ...(author !== undefined && { author }), ...(kept && { kept }) }
    const commit: Commit = { ...(await make()), ...signed }
    try {
      return await store.commit(commit, guard)
    } catch (error) {
      const isStale = error instanceof CommandError && error.code === 'revision_changed'
      if (!isStale || attempt === ATTEMPTS) throw error
    }
  }
}

async function readTarget(
  store: Store,
  target: Target,
): Promise<Pick<Live, 'head'> & { resource: StoredResource }> {
  const { head, resources } = await store.find(identity(target))
  const [resource] = resources
  if (!resource) throw new CommandError('not_found', `There is no ${label(target)}.`)
  if (resource.owner === 'config') throw new ManagedError(resource)
  if (target.version !== undefined && target.version !== resource.updatedRevision) {
    const message = `${resourceId(target)} has changed: it is at revision ${resource.updatedRevision} now.`
    throw new CommandError('revision_changed', message)
  }
  return { head, resource }
}

/**
 * The resources that a check of the change needs: the changed ones, those they refer to, and keys with the same
 * secrets. No other resource can be affected.
 *
 * @throws {UnknownReferenceError} not_found
 */
async function affectedResources(view: CommitView): Promise<readonly StoredResource[]> {
  const made = view.changed.flatMap(({ after }) => after ?? [])
  const found = new Map(made.map(resource => [resourceId(resource), resource]))
  for (const resource of made) {
    for (const where of secretsOf(resource)) {
      for (const key of await view.find({ kind: 'key', where })) found.set(resourceId(key), key)
    }
  }
  for (const resource of found.values()) {
    for (const { kind, name } of references(resource)) {
      const [target] = await view.find({ kind, name })
      if (!target) throw new UnknownReferenceError(kind, name, similarNames(name, await namesOf(kind, view)))
      found.set(resourceId(target), target)
    }
  }
  return [...found.values()].sort(compareResources)
}

/** Queries for other keys with the same configured secret. */
function secretsOf({ kind, spec }: StoredResource): Record<string, string>[] {
  if (kind !== 'key') return []
  const { hash, secret } = decode('key', spec)
  return [
    ...(hash === undefined ? [] : [{ hash }]),
    ...(secret?.env === undefined ? [] : [{ 'secret.env': secret.env }]),
    ...(secret?.file === undefined ? [] : [{ 'secret.file': secret.file }]),
  ]
}

async function namesOf(kind: Kind, view: CommitView): Promise<readonly string[]> {
  return (await view.find({ kind })).map(({ name }) => name)
}

function identity({ kind, name }: Target): { readonly kind: Kind; readonly name: string } {
  return { kind, name }
}

/** `key k`, `binding of gpt-4o to openai`. */
function label(target: Target): string {
  return subject(target).replace(/^the /, '')
}

function withArticle(target: Target): string {
  return `${target.kind === 'endpoint' ? 'an' : 'a'} ${label(target)}`
}

function isSame(a: CanonicalSpec, b: CanonicalSpec): boolean {
  return JSON.stringify(sortKeys(a)) === JSON.stringify(sortKeys(b))
}
