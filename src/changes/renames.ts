import type { Tree } from '../config/types.ts'
import { bindingName, type CanonicalSpec, decode, type Kind } from '../schema/kinds.ts'
import { resourceId } from '../store/resources.ts'
import type { Live, Rename, StoredResource } from '../store/types.ts'
import { isOwn } from './ownership.ts'
import { ownerName, subject } from './subject.ts'
import type { PlanWarning } from './types.ts'

/** What `previous_name` asks for, as far as it can be done. */
export interface Renaming {
  /** Of endpoints, publications, tenants and keys; bindings follow. */
  readonly renames: readonly Rename[]
  readonly warnings: readonly PlanWarning[]
}

/**
 * What gets another name: a declared resource that does not stand, whose previous name stands, belongs to the same
 * set, and is declared no more. Everything else is left as it is, with a word where that is not what was meant.
 */
export function renamesOf(live: readonly StoredResource[], desired: Tree): Renaming {
  const standing = new Map(live.map(resource => [resourceId(resource), resource]))
  const declared = new Set(desired.resources.map(resourceId))
  const renames: Rename[] = []
  const warnings: PlanWarning[] = []
  const taken = new Set<string>()
  for (const { kind, name, previousName } of desired.resources) {
    if (previousName === undefined) continue
    const warn = (code: 'renamed' | 'not_renamed', message: string) =>
      warnings.push({ code, kind, name, message })
    const from = `${kind}/${previousName}`
    const old = standing.get(from)
    if (standing.has(`${kind}/${name}`)) {
      warn('renamed', '`previous_name` has done its work and may go')
    } else if (old && declared.has(from)) {
      warn('not_renamed', `\`previous_name\` does nothing: ${subject(old)} is still declared`)
    } else if (old && !isOwn(old, desired.set)) {
      warn('not_renamed', `\`previous_name\` does nothing: ${subject(old)} belongs to ${ownerName(old)}`)
    } else if (old && taken.has(from)) {
      warn('not_renamed', `\`previous_name\` does nothing: ${subject(old)} becomes another one`)
    } else if (old) {
      taken.add(from)
      renames.push({ kind, from: previousName, to: name })
    }
  }
  return { renames, warnings }
}

/** Whose references follow a rename by the files of a set: its own, and those that no files speak for. */
export function dependentsOf(set: string): (resource: StoredResource) => boolean {
  return resource => isOwn(resource, set) || resource.owner !== 'config'
}

/** The renames that two states of a store differ by: what is booked under one account is one resource. */
export function renamesBetween(
  before: readonly StoredResource[],
  after: readonly StoredResource[],
): readonly Rename[] {
  const kept = new Set(after.map(resourceId))
  const standing = new Set(before.map(resourceId))
  const gone = new Map(
    before.filter(old => !kept.has(resourceId(old))).map(old => [accountId(old), old.name]),
  )
  return after.flatMap(next => {
    if (next.kind === 'binding' || standing.has(resourceId(next))) return []
    const from = gone.get(accountId(next))
    return from === undefined ? [] : [{ kind: next.kind, from, to: next.name }]
  })
}

/**
 * The renames with those of the bindings that follow from them.
 *
 * @param mayFollow says of whom bindings and references follow: a set's files name what they refer to by themselves.
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

/** What stands, as if it had always had the new names, references of those who follow included. */
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
    // Nothing is booked by binding.
    if (resource.kind === 'binding') return { ...resource, spec, name }
    return { ...resource, spec, name, account: resource.account ?? resource.name }
  })
}

/** The spec with what it refers to under the new names. */
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

/** All that is live, under the new names, secrets of keys included. */
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
