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
  '0012-call-nodes',
  '0013-audit-indexes',
  '0014-audit-reasons',
  '0015-usage-without-keys',
  '0016-stale-tokens-expand',
] as const

/** The first migration of the development versions before the baseline: their databases are not converted. */
export const DEVELOPMENT_MIGRATION = '0001-configuration'

/**
 * Whether gateways of the version before may go on beside it, and open the store again: it only adds what they neither read
 * nor must write. Its name says so, because they know nothing else of it (docs/decisions/0041-expand-then-contract.md).
 */
export function isExpansion(migration: string): boolean {
  return migration.endsWith('-expand')
}
