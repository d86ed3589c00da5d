import type { Live } from '../../../src/store/types.ts'

/** The state of a store that does not exist yet: the base of a plan against it. */
export function emptyLive(atMs: number): Live {
  return { head: { revision: 0, keyVersion: 0 }, atMs, resources: [], secrets: [], holds: [] }
}
