import type { z } from 'zod'
import { declaredEndpoint, declaredKey, declaredPublication, declaredTenant } from './declared.ts'
import { storedEndpoint } from './endpoint.ts'
import { key } from './key.ts'
import { node } from './node.ts'
import { binding, publication } from './publication.ts'
import { settings } from './settings.ts'
import { tenant } from './tenant.ts'

/**
 * The schema of each kind of stored resource, in the order of references between kinds. `settings` has one resource,
 * named `settings`; a binding is named by {@link bindingName}.
 */
export const KINDS = {
  settings,
  node,
  endpoint: storedEndpoint,
  publication,
  binding,
  tenant,
  key,
} as const

/** The same in a file. */
export const DECLARED_KINDS = {
  ...KINDS,
  endpoint: declaredEndpoint,
  publication: declaredPublication,
  tenant: declaredTenant,
  key: declaredKey,
} as const

export type Kind = keyof typeof KINDS
export const KIND_NAMES = Object.keys(KINDS) as Kind[]

/** A decoded resource: defaults applied, durations in milliseconds, sizes in bytes, money in nano-units. */
export type Spec<K extends Kind> = z.output<(typeof KINDS)[K]>

/** The same in its canonical text form, defaults applied: the form of the store, plans and exports. */
export type CanonicalSpec = { readonly [field: string]: Json }
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** Whether a value is a JSON object. */
export function isFields(value: Json | undefined): value is CanonicalSpec {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** One resource in canonical form. `kind` and `name` together are its identity. */
export interface Resource {
  readonly kind: Kind
  readonly name: string
  readonly spec: CanonicalSpec
}

/** The name of a binding. Names contain no spaces. */
export function bindingName(publicationName: string, endpointName: string): string {
  return `${publicationName} ${endpointName}`
}

/** Decodes a valid resource, such as one from the store. */
export function decode<K extends Kind>(kind: K, spec: CanonicalSpec): Spec<K> {
  return KINDS[kind].parse(spec) as Spec<K>
}

/** The canonical form of a decoded resource. Equal specs encode alike. */
export function encode<K extends Kind>(kind: K, spec: Spec<K>): CanonicalSpec {
  return sortKeys((KINDS[kind] as z.ZodType).encode(spec) as Json) as CanonicalSpec
}

/** Sorts the keys of every object, so that equal values have equal JSON. Omits undefined members. */
export function sortKeys(value: Json): Json {
  if (Array.isArray(value)) return value.map(sortKeys)
  if (value === null || typeof value !== 'object') return value
  const entries = Object.entries(value as Record<string, Json | undefined>).filter(
    ([, member]) => member !== undefined,
  )
  return Object.fromEntries(
    entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, member]) => [name, sortKeys(member as Json)]),
  )
}
