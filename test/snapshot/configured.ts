import { load } from '../../src/config/load.ts'
import type { ServedState } from '../../src/schema/state.ts'
import { compile } from '../../src/snapshot/compile.ts'
import type { Snapshot } from '../../src/snapshot/types.ts'

/** A configuration in YAML as the store would hand it over. */
export async function stateOf(yaml: string, more: Partial<ServedState> = {}): Promise<ServedState> {
  const loaded = await load(['-'], {
    environment: {},
    readStdin: () => Promise.resolve(Buffer.from(yaml)),
    known: new Set(),
  })
  if (!loaded.ok) throw new Error(loaded.problems.map(({ message }) => message).join('\n'))
  return {
    revision: 1,
    keyVersion: 1,
    resources: loaded.tree.resources.map(resource => ({ ...resource, createdAtMs: 1_700_000_000_000 })),
    secrets: [],
    suspendedKeys: [],
    ...more,
  }
}

export async function snapshotOf(yaml: string, more: Partial<ServedState> = {}): Promise<Snapshot> {
  const compiled = compile(await stateOf(yaml, more), () => new Error('no secrets here'))
  if (!compiled.ok) throw new Error(compiled.problems.join('\n'))
  return compiled.snapshot
}
