import type { CanonicalSpec, Json, Kind } from '../schema/kinds.ts'
import type { FieldChange } from './types.ts'

/** Where secrets stand, or what stands for one: of these fields a plan tells only that they changed. */
const SECRET_FIELDS: Partial<Record<Kind, readonly string[]>> = {
  endpoint: ['upstream_key'],
  key: ['secret', 'hash'],
}
/** Of an endpoint: what is no text there is a reference to a secret. */
const HEADER = /^(?:headers[.[]|proxy$)/
const PLAIN_KEY = /^[A-Za-z0-9_-]+$/

type Fields = { readonly [field: string]: Json }

/** What makes `after` out of `before`, field by field, sorted as the specs are; empty where they are equal. */
export function fieldChanges(kind: Kind, before: CanonicalSpec, after: CanonicalSpec): FieldChange[] {
  const secret = new Set(SECRET_FIELDS[kind])
  return union(before, after).flatMap(field => {
    const [old, next] = [own(before, field), own(after, field)]
    if (!secret.has(field)) return changesAt(field, old, next)
    return isEqual(old, next) ? [] : [{ path: field, type: 'secret' }]
  })
}

function changesAt(path: string, before: Json | undefined, after: Json | undefined): FieldChange[] {
  if (isEqual(before, after)) return []
  if (HEADER.test(path) && [before, after].some(value => value !== undefined && isFields(value)))
    return [{ path, type: 'secret' }]
  const [from, to] = [before ?? {}, after ?? {}]
  if (isFields(from) && isFields(to)) {
    const members = union(from, to)
    // Without members one of the two is an empty map and the other nothing: that is told as it is.
    if (members.length > 0) {
      return members.flatMap(member =>
        changesAt(memberPath(path, member), own(from, member), own(to, member)),
      )
    }
  }
  if (Array.isArray(before) && Array.isArray(after)) {
    const added = without(after as readonly Json[], before as readonly Json[])
    const removed = without(before as readonly Json[], after as readonly Json[])
    // Neither: the same items in another order, which only the two lists side by side can show.
    if (added.length + removed.length > 0) return [{ path, type: 'list', added, removed }]
  }
  return [
    { path, type: 'value', ...(before !== undefined && { before }), ...(after !== undefined && { after }) },
  ]
}

/** `labels.team`, or `labels["a.b"]` where a dot would tell another story. */
function memberPath(path: string, member: string): string {
  return PLAIN_KEY.test(member) ? `${path}.${member}` : `${path}[${JSON.stringify(member)}]`
}

function union(a: Fields, b: Fields): string[] {
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].sort()
}

/** A label may be called `constructor`. */
function own(fields: Fields, field: string): Json | undefined {
  return Object.hasOwn(fields, field) ? fields[field] : undefined
}

function isFields(value: Json): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The items of `list` beyond those that `other` holds as well, each as often as it stands there. */
function without(list: readonly Json[], other: readonly Json[]): Json[] {
  const left = other.map(item => JSON.stringify(item))
  return list.filter(item => {
    const at = left.indexOf(JSON.stringify(item))
    if (at >= 0) left.splice(at, 1)
    return at < 0
  })
}

/** Canonical values have sorted keys, so equal ones have equal texts. */
function isEqual(a: Json | undefined, b: Json | undefined): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
