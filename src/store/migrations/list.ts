import type { Migration } from 'kysely/migration'
import { configuration } from './0001-configuration.ts'
import { keys } from './0002-keys.ts'
import { ledger } from './0003-ledger.ts'
import { maintenance } from './0004-maintenance.ts'
import { people } from './0005-people.ts'
import { interruptedCalls } from './0006-interrupted-calls.ts'
import { gateways } from './0007-gateways.ts'
import { prices } from './0008-prices.ts'
import { rollbacks } from './0009-rollbacks.ts'
import { accounts } from './0010-accounts.ts'
import { leanHolds } from './0011-lean-holds.ts'
import { ledgerIsAppended } from './0012-ledger-is-appended.ts'
import { followedFiles } from './0013-followed-files.ts'
import { revisionChanges } from './0014-revision-changes.ts'
import { retiredAccounts } from './0015-retired-accounts.ts'
import { endpointHealth } from './0016-endpoint-health.ts'
import { tokens } from './0017-tokens.ts'
import { loginOrigins } from './0018-login-origins.ts'
import { refusedCalls } from './0019-refused-calls.ts'
import { standardNames } from './0020-standard-names.ts'
import type { MIGRATION_NAMES } from './names.ts'

type MigrationName = (typeof MIGRATION_NAMES)[number]

/** Every migration, under the name that databases record. Append; never change one that was released. */
export const MIGRATIONS: Readonly<Record<MigrationName, Migration>> = {
  '0001-configuration': configuration,
  '0002-keys': keys,
  '0003-ledger': ledger,
  '0004-maintenance': maintenance,
  '0005-people': people,
  '0006-interrupted-calls': interruptedCalls,
  '0007-gateways': gateways,
  '0008-prices': prices,
  '0009-rollbacks': rollbacks,
  '0010-accounts': accounts,
  '0011-lean-holds': leanHolds,
  '0012-ledger-is-appended': ledgerIsAppended,
  '0013-followed-files': followedFiles,
  '0014-revision-changes': revisionChanges,
  '0015-retired-accounts': retiredAccounts,
  '0016-endpoint-health': endpointHealth,
  '0017-tokens': tokens,
  '0018-login-origins': loginOrigins,
  '0019-refused-calls': refusedCalls,
  '0020-standard-names': standardNames,
}
