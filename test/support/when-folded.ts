import { expect } from 'vitest'
import { waitForBacklog } from '../../src/store/journal/backlog.ts'

/** Resolves when all that a gateway has written to its journal is in the store, which readers of the store see. */
export async function whenFolded(store: string): Promise<void> {
  expect(await waitForBacklog(store, 10_000)).toBe(0)
}
