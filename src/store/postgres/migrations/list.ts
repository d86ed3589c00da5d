import type { Migration } from 'kysely/migration'
import { staleTokens } from '../../migrations/0016-stale-tokens-expand.ts'
import { baseline } from './0001-baseline.ts'
import { usageWithoutKeys } from './0015-usage-without-keys.ts'
import { archives } from './0016-archives-expand.ts'

/** Every migration, under the name that databases record. Append; never change one that was released. */
export const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001-baseline': baseline,
  '0015-usage-without-keys': usageWithoutKeys,
  '0016-archives-expand': archives,
  '0017-stale-tokens-expand': staleTokens,
}
