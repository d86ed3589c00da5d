/**
 * The names of all migrations, in order, as an up-to-date database records them. In a file of their own, because the
 * start needs nothing else: loading the migrations and Kysely would take longer than the rest of the start.
 */
export const MIGRATION_NAMES = [
  '0001-baseline',
  '0002-stored-responses',
  '0003-usage-units',
  '0004-journal',
  '0005-compact-ledger',
  '0006-shares',
  '0007-archives',
  '0008-nodes',
  '0009-lanes',
  '0010-usage-days',
  '0011-login-links',
] as const

/** The first migration of the development versions before the baseline: their databases are not converted. */
export const DEVELOPMENT_MIGRATION = '0001-configuration'
