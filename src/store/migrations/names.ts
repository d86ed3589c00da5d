/**
 * The names of all migrations, in order, as an up-to-date database records them. In a file of their own, because the
 * start needs nothing else: loading the migrations and Kysely would take longer than the rest of the start.
 */
export const MIGRATION_NAMES = [
  '0001-configuration',
  '0002-keys',
  '0003-ledger',
  '0004-maintenance',
  '0005-people',
  '0006-interrupted-calls',
  '0007-gateways',
  '0008-prices',
  '0009-rollbacks',
  '0010-accounts',
  '0011-lean-holds',
  '0012-ledger-is-appended',
  '0013-followed-files',
  '0014-revision-changes',
  '0015-retired-accounts',
  '0016-endpoint-health',
  '0017-tokens',
  '0018-login-origins',
  '0019-refused-calls',
  '0020-standard-names',
] as const
