import type Database from 'better-sqlite3'
import { CommandError } from '../base/catalogue/command.ts'
import type { StoreMode } from './database.ts'
import { type Lease, takeAllLeases } from './ledger/lease.ts'
import { DEVELOPMENT_MIGRATION, isExpansion, MIGRATION_NAMES } from './migrations/names.ts'
import { immediately, type Session } from './session.ts'

/** Called before a store with content is converted, which takes half a minute for a million calls. */
export type OnMigration = (pending: readonly string[]) => void

/**
 * Applies all pending migrations, in one transaction; two processes that migrate at once take turns.
 * @throws {CommandError} store_unavailable if the file is the database of another program, or of a development
 * version before the baseline; store_too_new if a newer gw wrote it; for readers, which cannot migrate, store_missing if
 * it is empty and store_outdated if an older gw wrote it; for writers, store_in_use if gateways of an older gw serve it and a
 * migration is more than an expansion.
 */
export async function migrate(
  session: Session,
  mode: StoreMode,
  onMigration: OnMigration = () => undefined,
): Promise<void> {
  const done = migrationsOf(session)
  if (isComplete(done)) return
  if (done.includes(DEVELOPMENT_MIGRATION)) {
    throw new CommandError(
      'store_unavailable',
      `${session.path} was made by a development version of gw, before the first release: it is not converted.`,
      { hint: 'Run `gw export` with that version, then `gw apply` with this one and a new store.' },
    )
  }
  const { MIGRATIONS } = await import('./migrations/list.ts')
  const newer = done.filter(name => !Object.hasOwn(MIGRATIONS, name) && !isExpansion(name))
  if (newer.length > 0) {
    throw new CommandError(
      'store_too_new',
      `${session.path} has the migrations ${newer.join(', ')}, which this gw does not know.`,
    )
  }
  const pending = Object.keys(MIGRATIONS).filter(name => !done.includes(name))
  if (pending.length === 0) return
  if (mode === 'read') {
    throw done.length === 0
      ? new CommandError('store_missing', `${session.path} is empty.`)
      : new CommandError('store_outdated', `${session.path} lacks ${pending.join(', ')}.`)
  }
  if (done.length > 0) onMigration(pending)
  const { Migrator } = await import('kysely/migration')
  await immediately(session, async db => {
    // Another process may have migrated it meanwhile.
    if (isComplete(migrationsOf(session))) return
    const isSafe = done.length === 0 || pending.every(isExpansion)
    const lease = isSafe ? undefined : leaseForMigration(session.path)
    try {
      const provider = { getMigrations: async () => ({ ...MIGRATIONS }) }
      const { error } = await new Migrator({ db, provider }).migrateToLatest()
      if (error !== undefined) throw error as Error
      // Returns the pages that a migration has freed to the file system.
      session.raw.pragma('incremental_vacuum')
    } finally {
      lease?.release()
    }
  })
}

/** Running gateways are of an older version, whose statements the new tables may not fit. @throws {CommandError} store_in_use */
function leaseForMigration(path: string): Lease {
  try {
    return takeAllLeases(path)
  } catch (error) {
    if (!(error instanceof CommandError) || error.code !== 'store_in_use') throw error
    throw new CommandError(
      'store_in_use',
      `${path} must be converted for this version of gw, and gateways of an older one serve it.`,
      { cause: error },
    )
  }
}

function isComplete(done: readonly string[]): boolean {
  const known: readonly string[] = MIGRATION_NAMES
  return (
    known.every(name => done.includes(name)) && done.every(name => known.includes(name) || isExpansion(name))
  )
}

function migrationsOf({ raw, path }: Session): string[] {
  const tables = column(raw, `select name from sqlite_schema where type = 'table'`)
  if (tables.includes('kysely_migration'))
    return column(raw, 'select name from kysely_migration order by name')
  if (tables.length === 0) return []
  throw new CommandError('store_unavailable', `${path} is the database of another program.`)
}

function column(raw: Database.Database, query: string): string[] {
  return raw.prepare(query).pluck().all() as string[]
}
