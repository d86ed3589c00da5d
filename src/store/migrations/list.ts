import type { Migration } from 'kysely/migration'
import { baseline } from './0001-baseline.ts'
import { storedResponses } from './0002-stored-responses.ts'
import { usageUnits } from './0003-usage-units.ts'
import { journal } from './0004-journal.ts'
import { compactLedger } from './0005-compact-ledger.ts'
import { shares } from './0006-shares.ts'
import { archives } from './0007-archives.ts'
import { nodes } from './0008-nodes.ts'
import { lanes } from './0009-lanes.ts'
import { usageDays } from './0010-usage-days.ts'
import { loginLinks } from './0011-login-links.ts'
import { callNodes } from './0012-call-nodes.ts'
import { auditIndexes } from './0013-audit-indexes.ts'
import { auditReasons } from './0014-audit-reasons.ts'
import { usageWithoutKeys } from './0015-usage-without-keys.ts'
import { staleTokens } from './0016-stale-tokens-expand.ts'
import type { MIGRATION_NAMES } from './names.ts'

type MigrationName = (typeof MIGRATION_NAMES)[number]

/** Every migration, under the name that databases record. Append; never change one that was released. */
export const MIGRATIONS: Readonly<Record<MigrationName, Migration>> = {
  '0001-baseline': baseline,
  '0002-stored-responses': storedResponses,
  '0003-usage-units': usageUnits,
  '0004-journal': journal,
  '0005-compact-ledger': compactLedger,
  '0006-shares': shares,
  '0007-archives': archives,
  '0008-nodes': nodes,
  '0009-lanes': lanes,
  '0010-usage-days': usageDays,
  '0011-login-links': loginLinks,
  '0012-call-nodes': callNodes,
  '0013-audit-indexes': auditIndexes,
  '0014-audit-reasons': auditReasons,
  '0015-usage-without-keys': usageWithoutKeys,
  '0016-stale-tokens-expand': staleTokens,
}
