import type { ServedState } from '../../src/schema/state.ts'
import { type Compiled, linking, type SecretLookup } from '../../src/snapshot/compile.ts'
import { type Decoded, decoding } from '../../src/snapshot/decoding.ts'
import type { KeyEntry, Snapshot, TenantEntry } from '../../src/snapshot/types.ts'

/** Compiles a state as a gateway does that has served another one before. */
export function compileAgain(
  state: ServedState,
  before: Decoded | undefined,
  secretOf: SecretLookup,
): { readonly decoded: Decoded; readonly compiled: Compiled } {
  const decoded = finished(decoding(state, before))
  return { decoded, compiled: finished(linking(decoded, secretOf)) }
}

export function finished<Result>(work: Generator<undefined, Result>): Result {
  for (;;) {
    const step = work.next()
    if (step.done) return step.value
  }
}

/** A snapshot to be compared with another: what its filters say of some names in their place. */
export function shown(snapshot: Snapshot, models: readonly string[]): unknown {
  const said = (filter: (model: string) => boolean) => models.filter(filter)
  const tenant = (entry: TenantEntry) => ({
    ...entry,
    mayUse: said(entry.mayUse),
    isBanned: said(entry.isBanned),
  })
  const key = (entry: KeyEntry) => ({
    ...entry,
    mayUse: said(entry.mayUse),
    tenant: entry.tenant && tenant(entry.tenant),
  })
  return {
    ...snapshot,
    keys: [...snapshot.keys].map(([digest, entry]) => [digest, key(entry)]),
    tenants: [...snapshot.tenants].map(([name, entry]) => [name, tenant(entry)]),
  }
}
