import {
  type CanonicalSpec,
  encode,
  isFields,
  type Json,
  KINDS,
  type Kind,
  type Resource,
  type Spec,
} from '../../schema/kinds.ts'
import type { StoredResource } from '../../store/types.ts'
import type { FieldChange, Plan, ResourceChange } from './types.ts'

/** Fields with a secret or a reference to one: a plan reports only that they changed. */
const SECRET_FIELDS: Partial<Record<Kind, readonly string[]>> = {
  endpoint: ['upstream_key'],
  key: ['secret', 'hash'],
}
/** Endpoint fields with a secret reference if the value is not text. */
const HEADER = /^(?:headers[.[]|tls\.|proxy$)/
const PLAIN_KEY = /^[A-Za-z0-9_-]+$/

type Fields = { readonly [field: string]: Json }

/** The changes from `before` to `after`, field by field, in the order of the specs; empty if equal. */
export function fieldChanges(kind: Kind, before: CanonicalSpec, after: CanonicalSpec): FieldChange[] {
  const secret = new Set(SECRET_FIELDS[kind])
  return union(before, after).flatMap(field => {
    const [old, next] = [own(before, field), own(after, field)]
    if (!secret.has(field)) return changesAt(field, old, next)
    return isEqual(old, next) ? [] : [{ path: field, type: 'secret' }]
  })
}

/** The deletion of a resource. Deleted settings fall back to their defaults, which are shown. */
export function deletionOf({ kind, name, spec, place }: StoredResource): ResourceChange {
  const fields = kind === 'settings' ? fieldChanges(kind, spec, encode(kind, KINDS.settings.parse({}))) : []
  return { action: 'delete', kind, name, fields, ...(place && { place }) }
}

function changesAt(path: string, before: Json | undefined, after: Json | undefined): FieldChange[] {
  if (isEqual(before, after)) return []
  if (HEADER.test(path) && [before, after].some(value => value !== undefined && isFields(value)))
    return [{ path, type: 'secret' }]
  const [from, to] = [before ?? {}, after ?? {}]
  if (isFields(from) && isFields(to)) {
    const members = union(from, to)
    // Without members, one value is an empty map and the other is absent: that is reported as a value.
    if (members.length > 0) {
      return members.flatMap(member =>
        changesAt(memberPath(path, member), own(from, member), own(to, member)),
      )
    }
  }
  if (Array.isArray(before) && Array.isArray(after)) {
    const added = without(after as readonly Json[], before as readonly Json[])
    const removed = without(before as readonly Json[], after as readonly Json[])
    // If both are empty, only the order differs, which is reported as a value.
    if (added.length + removed.length > 0) return [{ path, type: 'list', added, removed }]
  }
  return [
    { path, type: 'value', ...(before !== undefined && { before }), ...(after !== undefined && { after }) },
  ]
}

/**
 * A plan for display: created resources show only the fields that differ from their default. Updates are unchanged.
 *
 * @param tree the resources after the plan.
 */
export function withoutDefaults(plan: Plan, tree: { readonly resources: readonly Resource[] }): Plan {
  return { ...plan, changes: changesWithoutDefaults(plan.changes, tree.resources) }
}

/** The same for a list of changes. */
export function changesWithoutDefaults(
  changes: readonly ResourceChange[],
  resources: readonly Resource[],
): readonly ResourceChange[] {
  const specs = new Map(resources.map(({ kind, name, spec }) => [`${kind}/${name}`, spec]))
  return changes.map(change => {
    const spec = specs.get(`${change.kind}/${change.name}`)
    if (change.action !== 'create' || !spec) return change
    const written = writtenPaths(change.kind, spec)
    const isWritten = ({ path }: { readonly path: string }) => written.has(path) || written.has(rootOf(path))
    return { ...change, fields: change.fields.filter(isWritten) }
  })
}

/** `nodes` of `nodes.engine`. */
function rootOf(path: string): string {
  return path.split(/[.[]/, 1)[0] ?? path
}

function writtenPaths(kind: Kind, spec: CanonicalSpec): Set<string> {
  const required: Record<string, CanonicalSpec[string]> = {}
  for (const [field, value] of Object.entries(spec)) {
    const { [field]: _left, ...others } = spec
    if (!KINDS[kind].safeParse(others).success) required[field] = value
  }
  const minimal = KINDS[kind].safeParse(required)
  const defaults = minimal.success ? encode(kind, minimal.data as Spec<typeof kind>) : {}
  const differing = fieldChanges(kind, defaults, spec).map(change => change.path)
  const written = new Set([...Object.keys(required), ...differing])
  // They are part of the name of a binding.
  if (kind === 'binding') for (const field of ['publication', 'endpoint']) written.delete(field)
  return written
}

/** `labels.team`, or `labels["a.b"]` if a dot would be ambiguous. */
function memberPath(path: string, member: string): string {
  return PLAIN_KEY.test(member) ? `${path}.${member}` : `${path}[${JSON.stringify(member)}]`
}

function union(a: Fields, b: Fields): string[] {
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].sort()
}

/** A label may be named `constructor`. */
function own(fields: Fields, field: string): Json | undefined {
  return Object.hasOwn(fields, field) ? fields[field] : undefined
}

/** The items of `list` that `other` lacks, counting duplicates. */
function without(list: readonly Json[], other: readonly Json[]): Json[] {
  const left = other.map(item => JSON.stringify(item))
  return list.filter(item => {
    const at = left.indexOf(JSON.stringify(item))
    if (at >= 0) left.splice(at, 1)
    return at < 0
  })
}

/** Canonical values have sorted keys, so equal values have equal JSON. */
function isEqual(a: Json | undefined, b: Json | undefined): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
