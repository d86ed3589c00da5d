import type { DeclaredResource, Tree } from '../../config/types.ts'
import { bindingName, type CanonicalSpec, decode, type Kind, type Resource } from '../../schema/kinds.ts'
import { name as keyName } from '../../schema/scalars.ts'
import { resourceId } from '../../store/resources.ts'
import type { Live, Rename, StoredResource } from '../../store/types.ts'
import { isOwnKey } from '../self-service.ts'
import { isOwn } from './ownership.ts'
import { belonging, ConflictError, capital, subject } from './rejections.ts'
import type { Conflict, PlanWarning } from './types.ts'

/** The renames that `previous_name` requests, as far as they are possible. */
export interface Renaming {
  /** Of endpoints, publications, tenants and keys; their bindings are renamed along. */
  readonly renames: readonly Rename[]
  readonly warnings: readonly PlanWarning[]
}

/**
 * Finds the renames of a tree: a declared resource that does not exist yet, with a previous name that exists, belongs
 * to the same set, and is no longer declared. Other uses of `previous_name` cause a warning.
 *
 * @throws {ConflictError} already_exists for chains and swaps, and for a name that another resource has: the secrets and the money of one
 * would become those of the other.
 */
export function renamesOf(live: readonly StoredResource[], desired: Tree): Renaming {
  const existing = new Map(live.map(resource => [resourceId(resource), resource]))
  const declared = new Set(desired.resources.map(resourceId))
  const renames: Rename[] = []
  const warnings: PlanWarning[] = []
  const conflicts: Conflict[] = []
  const taken = new Set<string>()
  // Declared names of resources that are renamed: what has such a name now gives it up.
  const leaving = new Set(
    desired.resources.flatMap(({ kind, name, previousName }) =>
      previousName !== undefined && existing.has(`${kind}/${previousName}`) ? [`${kind}/${name}`] : [],
    ),
  )
  for (const { kind, name, previousName, place } of desired.resources) {
    if (previousName === undefined) continue
    const warn = (code: 'renamed' | 'not_renamed', message: string) =>
      warnings.push({ code, kind, name, message })
    const from = `${kind}/${previousName}`
    const old = existing.get(from)
    const isLeft = old && isOwn(old, desired.set) && (!declared.has(from) || leaving.has(from))
    if (existing.has(`${kind}/${name}`) && isLeft) {
      const other = subject({ kind, name })
      const message = `${capital(subject(old))} cannot be renamed to ${name}: ${other} exists already. Rename in steps, with an apply for each, or remove \`previous_name\`.`
      conflicts.push({ kind, name, message, place: { file: place.file, line: place.line } })
    } else if (existing.has(`${kind}/${name}`)) {
      warn('renamed', '`previous_name` has taken effect and can be removed')
    } else if (old && declared.has(from)) {
      warn('not_renamed', `\`previous_name\` does nothing: ${subject(old)} is still declared`)
    } else if (old && !isOwn(old, desired.set)) {
      warn('not_renamed', `\`previous_name\` does nothing: ${belonging(old, old)}`)
    } else if (old && taken.has(from)) {
      warn('not_renamed', `\`previous_name\` does nothing: ${subject(old)} is renamed to another resource`)
    } else if (old) {
      taken.add(from)
      renames.push({ kind, from: previousName, to: name })
    }
  }
  if (conflicts.length > 0) throw new ConflictError('already_exists', conflicts)
  return { renames, warnings }
}

const RENAMABLE: ReadonlySet<Kind> = new Set<Kind>(['endpoint', 'publication', 'tenant', 'key'])

/** Warns of each created resource that has the fields of exactly one that is deleted: its usage and secrets would be lost. */
export function possibleRenames(
  deleted: readonly Resource[],
  created: readonly DeclaredResource[],
): PlanWarning[] {
  const fieldsOf = ({ kind, spec }: Resource) =>
    `${kind} ${JSON.stringify({ ...spec, display_name: undefined })}`
  const former = Map.groupBy(deleted, fieldsOf)
  return [...Map.groupBy(created, fieldsOf)].flatMap(([fields, [first, ...others]]) => {
    const [old, ...more] = former.get(fields) ?? []
    if (!first || !old || others.length > 0 || more.length > 0 || !RENAMABLE.has(first.kind)) return []
    const { kind, name, place } = first
    const message = `it has the fields of ${old.name}, which is deleted; if this is a rename, add \`previous_name: ${old.name}\``
    return [{ code: 'possible_rename', kind, name, message, place: { file: place.file, line: place.line } }]
  })
}

/**
 * The renames with those of the keys that users of a renamed tenant made: their names start with that of the tenant.
 *
 * @throws {ConflictError} already_exists
 */
export function withOwnKeys(
  renames: readonly Rename[],
  live: readonly StoredResource[],
  desired: Pick<Tree, 'resources'>,
): readonly Rename[] {
  const tenants = new Map(renames.flatMap(({ kind, from, to }) => (kind === 'tenant' ? [[from, to]] : [])))
  if (tenants.size === 0) return renames
  const existing = new Set(live.map(resourceId))
  const declared = new Set(desired.resources.map(resourceId))
  const conflicts: Conflict[] = []
  const keys = live.flatMap((key): Rename[] => {
    const { kind, name, owner, spec } = key
    const tenant = spec['tenant']
    if (kind !== 'key' || owner !== 'rest' || typeof tenant !== 'string') return []
    const next = tenants.get(tenant)
    if (next === undefined || !isOwnKey(tenant, name) || declared.has(resourceId(key))) return []
    const to = `${next}${name.slice(tenant.length)}`
    const reason = existing.has(`key/${to}`)
      ? `${subject({ kind, name: to })} exists already. Delete one of them first.`
      : !keyName.safeParse(to).success && 'it is too long. Give the tenant a shorter one.'
    if (reason) {
      const message = `${capital(subject(key))} cannot follow its tenant to the name ${to}: ${reason}`
      conflicts.push({ kind, name, message })
    }
    return [{ kind, from: name, to }]
  })
  if (conflicts.length > 0) throw new ConflictError('already_exists', conflicts)
  return [...renames, ...keys]
}

/** The resources that follow a rename of a set: its own, and those that no files declare. */
export function dependentsOf(set: string): (resource: StoredResource) => boolean {
  return resource => isOwn(resource, set) || resource.owner !== 'config'
}

/** The renames between two states of a store: resources with the same ledger account are the same. */
export function renamesBetween(
  before: readonly StoredResource[],
  after: readonly StoredResource[],
): readonly Rename[] {
  const kept = new Set(after.map(resourceId))
  const existing = new Set(before.map(resourceId))
  const gone = new Map(
    before.filter(old => !kept.has(resourceId(old))).map(old => [accountId(old), old.name]),
  )
  return after.flatMap(next => {
    if (next.kind === 'binding' || existing.has(resourceId(next))) return []
    const from = gone.get(accountId(next))
    return from === undefined ? [] : [{ kind: next.kind, from, to: next.name }]
  })
}

/**
 * The renames with those of the affected bindings.
 *
 * @param mayFollow whether a resource follows renames; other sets change their references themselves.
 */
export function withBindings(
  renames: readonly Rename[],
  live: readonly StoredResource[],
  mayFollow: (resource: StoredResource) => boolean,
): readonly Rename[] {
  if (renames.length === 0) return renames
  const names = namesOf(renames)
  const dependents = live.flatMap((resource): Rename[] => {
    if (resource.kind !== 'binding' || !mayFollow(resource)) return []
    const to = bindingName(...endsOf(following('binding', resource.spec, names)))
    return to === resource.name ? [] : [{ kind: 'binding', from: resource.name, to }]
  })
  return [...renames, ...dependents]
}

/** The resources as if they always had the new names, with the references of followers. */
export function underNewNames(
  live: readonly StoredResource[],
  renames: readonly Rename[],
  mayFollow: (resource: StoredResource) => boolean,
): readonly StoredResource[] {
  if (renames.length === 0) return live
  const names = namesOf(renames)
  return live.map(resource => {
    const name = names.get(resourceId(resource))
    const spec = mayFollow(resource) ? following(resource.kind, resource.spec, names) : resource.spec
    if (name === undefined) return { ...resource, spec }
    // The ledger has no account per binding.
    if (resource.kind === 'binding') return { ...resource, spec, name }
    return { ...resource, spec, name, account: resource.account ?? resource.name }
  })
}

/** The spec with its references renamed. */
function following(kind: Kind, spec: CanonicalSpec, names: ReadonlyMap<string, string>): CanonicalSpec {
  const fields =
    kind === 'binding' ? (['endpoint', 'publication'] as const) : kind === 'key' ? (['tenant'] as const) : []
  let next = spec
  for (const field of fields) {
    const name = spec[field]
    const to = typeof name === 'string' ? names.get(`${field}/${name}`) : undefined
    if (to !== undefined) next = { ...next, [field]: to }
  }
  return next
}

function endsOf(spec: CanonicalSpec): [publication: string, endpoint: string] {
  const { publication, endpoint } = decode('binding', spec)
  return [publication, endpoint]
}

function namesOf(renames: readonly Rename[]): ReadonlyMap<string, string> {
  return new Map(renames.map(({ kind, from, to }) => [`${kind}/${from}`, to]))
}

function accountId({ kind, name, account = name }: StoredResource): string {
  return `${kind}/${account}`
}

/** The live state under the new names, including the secrets of keys. */
export function liveUnderNewNames(
  live: Live,
  renames: readonly Rename[],
  mayFollow: (resource: StoredResource) => boolean,
): Live {
  if (renames.length === 0) return live
  const tenants = new Map(renames.filter(({ kind }) => kind === 'tenant').map(({ from, to }) => [from, to]))
  const keys = new Map(renames.filter(({ kind }) => kind === 'key').map(({ from, to }) => [from, to]))
  const renamed = <Of extends { readonly key: string }>(of: Of): Of => ({
    ...of,
    key: keys.get(of.key) ?? of.key,
  })
  return {
    ...live,
    resources: underNewNames(live.resources, renames, mayFollow),
    secrets: live.secrets.map(renamed),
    holds: live.holds.map(renamed),
    ...(live.balances && {
      balances: live.balances.map(({ tenant, balanceNano }) => ({
        tenant: tenants.get(tenant) ?? tenant,
        balanceNano,
      })),
    }),
    ...(live.tenantUsers && {
      tenantUsers: live.tenantUsers.map(({ name, tenant }) => ({
        name,
        tenant: tenants.get(tenant) ?? tenant,
      })),
    }),
  }
}
