import { expect } from 'vitest'
import { waitForBacklog } from '../../src/store/journal/backlog.ts'
import { isPostgresUrl } from '../../src/store/url.ts'
import { select } from './past-the-store.ts'

/** Instances with rows that are not in the sums. */
const UNFOLDED = `
  select id from instances i
  where exists (select 1 from holds where instance = i.serial and holds.id > i.folded_hold)
    or exists (select 1 from ledger where instance = i.serial and ledger.id > i.folded_end)`

/**
 * Resolves when all that gateways have written is in the store and in its sums: SQLite has a journal before it, and gateways on PostgreSQL
 * add up once a second.
 * @param at the URL of the store, or the path of its file
 */
export async function whenFolded(at: string): Promise<void> {
  if (isPostgresUrl(at)) await expect.poll(() => select(at, UNFOLDED), { timeout: 10_000 }).toEqual([])
  else expect(await waitForBacklog(at.replace(/^sqlite:/, ''), 10_000)).toBe(0)
}
