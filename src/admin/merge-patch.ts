import type { Fields } from '../schema/api/reshape.ts'
import {
  type CanonicalSpec,
  encode,
  isFields,
  type Json,
  KINDS,
  type Kind,
  type Spec,
} from '../schema/kinds.ts'
import { checked } from './reading.ts'

/** The canonical form of a request body. @throws {ApiError} invalid_request */
export function canonicalOf(kind: Kind, fields: Fields): CanonicalSpec {
  return encode(kind, checked(KINDS[kind], fields) as Spec<typeof kind>)
}

/** An edit of a resource by a JSON merge patch. It throws {@link ApiError} invalid_request. */
export function patchedSpec(kind: Kind, patch: Fields): (spec: CanonicalSpec) => CanonicalSpec {
  return spec => canonicalOf(kind, patched(spec, patch))
}

/** Applies a JSON merge patch (RFC 7396): null removes a member, an object is merged, any other value replaces. */
export function patched(before: Fields, patch: Fields): Fields {
  const result: Record<string, Json> = { ...before }
  for (const [name, value] of Object.entries(patch)) {
    const old = Object.hasOwn(before, name) ? before[name] : undefined
    if (value === null) delete result[name]
    else result[name] = isFields(value) ? patched(isFields(old) ? old : {}, value) : value
  }
  return result
}

/** The answer with one resource and its version. */
export function versionedReply<Body extends { readonly updated_revision: number }>(body: Body) {
  return { body, etag: body.updated_revision }
}
