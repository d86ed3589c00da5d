import { type CanonicalSpec, encode, KINDS, type Kind } from '../../src/schema/kinds.ts'
import type { Commit, OwnedResource, Ownership, Store } from '../../src/store/types.ts'

/** The canonical form of what a file would say. */
export function canonical(kind: Kind, input: unknown): CanonicalSpec {
  return encode(kind, KINDS[kind].parse(input) as never)
}

export function endpointSpec(more: Record<string, unknown> = {}): CanonicalSpec {
  return canonical('endpoint', {
    protocol: 'openai',
    base_url: 'https://api.example.com/v1',
    served_model: 'm',
    ...more,
  })
}

export function endpoint(
  name: string,
  more: Record<string, unknown> = {},
  own: Ownership = MINE,
): OwnedResource {
  return { kind: 'endpoint', name, spec: endpointSpec(more), ...own }
}

export function key(name: string, more: Record<string, unknown> = {}, own: Ownership = MINE): OwnedResource {
  return { kind: 'key', name, spec: canonical('key', { kind: 'platform', ...more }), ...own }
}

export const MINE: Ownership = { owner: 'config', set: 'default', place: { file: 'gw.yaml', line: 3 } }

/** Commits on top of whatever stands. */
export async function put(store: Store, ...puts: readonly OwnedResource[]) {
  return store.commit(commitOn((await store.head()).revision, { puts }))
}

export async function remove(store: Store, ...deletes: Commit['deletes']) {
  return store.commit(commitOn((await store.head()).revision, { deletes }))
}

export function commitOn(base: number, more: Partial<Commit> = {}): Commit {
  return { base, origin: 'apply', set: 'default', counts: NO_COUNTS, puts: [], deletes: [], ...more }
}

export const NO_COUNTS = { create: 0, update: 0, delete: 0, unchanged: 0 }

/** A digest that is no secret's. */
export function digest(digit: string): string {
  return digit.repeat(64)
}
