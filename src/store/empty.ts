import type { Live } from './types.ts'

/** What stands in a store that does not exist yet: what a plan against it starts from. */
export function emptyLive(atMs: number): Live {
  return { head: { revision: 0, keyVersion: 0 }, atMs, resources: [], secrets: [], holds: [] }
}
