import type { z } from 'zod'
import { declaredEndpoint, declaredKey, declaredPublication, declaredTenant } from './declared.ts'
import { standingEndpoint } from './endpoint.ts'
import { key } from './key.ts'
import { binding, publication } from './publication.ts'
import { settings } from './settings.ts'
import { tenant } from './tenant.ts'

/**
 * Every kind of resource as it stands, in the order in which one may refer to another. `settings` is a kind with one
 * resource, named `settings`; a binding is named by {@link bindingName}.
 */
export const KINDS = { settings, endpoint: standingEndpoint, publication, binding, tenant, key } as const

/** The same as a file may declare it. */
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

/** The same in its one canonical text form, defaults applied: what the store, plans and exports hold. */
export type CanonicalSpec = { readonly [field: string]: Json }
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** One resource in canonical form. `kind` and `name` together are its identity. */
export interface Resource {
  readonly kind: Kind
  readonly name: string
  readonly spec: CanonicalSpec
}

/** A binding is one of a publication and an endpoint; neither name holds a space. */
export function bindingName(publicationName: string, endpointName: string): string {
  return `${publicationName} ${endpointName}`
}

/** The decoded form of a resource that is known to be valid, such as one read back from the store. */
export function decode<K extends Kind>(kind: K, spec: CanonicalSpec): Spec<K> {
  return KINDS[kind].parse(spec) as Spec<K>
}

/** The canonical form of a decoded resource. Two specs that mean the same encode alike. */
export function encode<K extends Kind>(kind: K, spec: Spec<K>): CanonicalSpec {
  return sortKeys((KINDS[kind] as z.ZodType).encode(spec) as Json) as CanonicalSpec
}

/** Sorts the keys of every object, so that equal values have equal JSON. Leaves out what is undefined. */
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
