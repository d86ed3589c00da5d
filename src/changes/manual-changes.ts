import { CommandError } from '../base/catalogue/command.ts'
import { type CanonicalSpec, decode, type Kind, type Resource, sortKeys } from '../schema/kinds.ts'
import type { StoredCredential } from '../schema/stored-credential.ts'
import { compareResources, resourceId } from '../store/resources.ts'
import type {
  Commit,
  CommitGuard,
  CommitView,
  Live,
  Revision,
  Store,
  StoredResource,
} from '../store/types.ts'
import { namedAlike } from './keys-named.ts'
import { assertReferences, references } from './ownership.ts'
import { ManagedError, UnknownReferenceError } from './rejections.ts'
import { ownerName, subject } from './subject.ts'
import type { Check } from './types.ts'

/**
 * Resources that no file declares: made, changed and deleted one at a time, by the command line or over REST. Each
 * change is a revision of its own; `gw apply` leaves them alone, and they leave alone what it has made.
 */

/** Nobody decides anything between the look and the commit, so a revision that comes in between is no conflict. */
const ATTEMPTS = 5
/** What a key or a binding may name. */
const REFERRED_TO: ReadonlySet<Kind> = new Set(['endpoint', 'publication', 'tenant'])
const NONE = { create: 0, update: 0, delete: 0, unchanged: 0 }

/** Who makes a change, and what a gateway would say to it. */
export interface Actor {
  readonly origin: 'cli' | 'rest'
  readonly author?: string
  readonly check?: Check
  /** Secrets that come with the change, sealed. */
  readonly kept?: readonly StoredCredential[]
}

/** One resource by its name, and what it must still be. */
export interface Target {
  readonly kind: Kind
  readonly name: string
  /** The `updatedRevision` that the change starts from; absent: whatever stands. */
  readonly version?: number
}

/**
 * @throws {CommandError} GW4013 where the name is taken, GW3002 where a gateway could not serve the result.
 * @throws {UnknownReferenceError} GW4005
 */
export function createManually(store: Store, made: Resource, actor: Actor): Promise<Revision> {
  return commitOnTop(store, actor, async () => {
    const { head, resources } = await store.find(identity(made))
    const [taken] = resources
    if (taken) {
      throw new CommandError('GW4013', `There is ${oneOf(made)} already; it belongs to ${ownerName(taken)}.`)
    }
    const puts = [{ ...made, owner: actor.origin }]
    return { base: head.revision, counts: { ...NONE, create: 1 }, puts, deletes: [] }
  })
}

/**
 * @param edit gives what the resource shall say, out of what it says; the same again writes nothing.
 * @returns the revision that the change made, undefined where it changed nothing.
 * @throws {CommandError} GW4005 without such a resource, GW4001 where it is no longer at `version`, GW3002
 * @throws {UnknownReferenceError} GW4005
 * @throws {ManagedError} GW4004 where a configuration file declares it.
 */
export async function changeManually(
  store: Store,
  target: Target,
  edit: (standing: StoredResource) => CanonicalSpec,
  actor: Actor,
): Promise<Revision | undefined> {
  const standing = await look(store, target)
  if (isSame(edit(standing.resource), standing.resource.spec)) return undefined
  return commitOnTop(store, actor, async () => {
    const { head, resource } = await look(store, target)
    const { kind, name, owner } = resource
    const puts = [{ kind, name, owner, spec: edit(resource) }]
    return { base: head.revision, counts: { ...NONE, update: 1 }, puts, deletes: [] }
  })
}

/**
 * @throws {CommandError} GW4005 without such a resource, GW4001 where it is no longer at `version`, GW4010 where
 * something else refers to it.
 * @throws {ManagedError} GW4004 where a configuration file declares it.
 */
export function deleteManually(store: Store, target: Target, actor: Actor): Promise<Revision> {
  return commitOnTop(store, actor, async () => {
    const { head } = await look(store, target)
    const { kind, name } = target
    const counts = { ...NONE, delete: 1 }
    return { base: head.revision, counts, puts: [], deletes: [{ kind, name }], tenantUsers: 'reject' }
  })
}

/** Commits what `make` makes of what stands, anew where somebody else was faster. */
async function commitOnTop(
  store: Store,
  { origin, author, check, kept }: Actor,
  make: () => Promise<Omit<Commit, 'origin' | 'author'>>,
): Promise<Revision> {
  const guard: CommitGuard = async view => {
    const gone = view.changed.flatMap(({ before, after }) => (before && !after ? [before] : []))
    if (gone.some(({ kind }) => REFERRED_TO.has(kind))) assertReferences(await view.all(), { resources: [] })
    const resources = await concerned(view)
    const problems = (await check?.(resources)) ?? []
    if (problems.length > 0) throw new CommandError('GW3002', problems.join('\n'))
  }
  for (let attempt = 1; ; attempt++) {
    const signed = { origin, ...(author !== undefined && { author }), ...(kept && { kept }) }
    const commit: Commit = { ...(await make()), ...signed }
    try {
      return await store.commit(commit, guard)
    } catch (error) {
      const overtaken = error instanceof CommandError && error.code === 'GW4001'
      if (!overtaken || attempt === ATTEMPTS) throw error
    }
  }
}

async function look(
  store: Store,
  target: Target,
): Promise<Pick<Live, 'head'> & { resource: StoredResource }> {
  const { head, resources } = await store.find(identity(target))
  const [resource] = resources
  if (!resource) throw new CommandError('GW4005', `There is no ${bare(target)}.`)
  if (resource.owner === 'config') throw new ManagedError(resource)
  if (target.version !== undefined && target.version !== resource.updatedRevision) {
    const message = `${resourceId(target)} has changed: it is of revision ${resource.updatedRevision} now.`
    throw new CommandError('GW4001', message)
  }
  return { head, resource }
}

/**
 * What a gateway has to look at to tell whether it could serve what was made: that, what it refers to, and the keys that
 * would be opened by the same secret. Nothing else of the state can be spoilt by it.
 *
 * @throws {UnknownReferenceError} GW4005
 */
async function concerned(view: CommitView): Promise<readonly StoredResource[]> {
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
      if (!target) throw new UnknownReferenceError(kind, name, namedAlike(name, await namesOf(kind, view)))
      found.set(resourceId(target), target)
    }
  }
  return [...found.values()].sort(compareResources)
}

/** The fields by which a key brings a secret along, as a query for others that bring the same. */
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
function bare(target: Target): string {
  return subject(target).replace(/^the /, '')
}

function oneOf(target: Target): string {
  return `${target.kind === 'endpoint' ? 'an' : 'a'} ${bare(target)}`
}

function isSame(a: CanonicalSpec, b: CanonicalSpec): boolean {
  return JSON.stringify(sortKeys(a)) === JSON.stringify(sortKeys(b))
}
