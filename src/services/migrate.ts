import type { AppPorts } from './context.ts'
import { withStore } from './stored.ts'

export interface Migrated {
  /** The migrations that were applied to a store of an older gw. */
  readonly migrations: readonly string[]
  readonly revision: number
}

/**
 * Brings a store up to date, and creates a missing one.
 * @throws {CommandError} store_…
 */
export async function migrateStore(
  url: string,
  ports: Pick<AppPorts, 'clock' | 'cwd' | 'onMigration'>,
): Promise<Migrated> {
  const migrations: string[] = []
  const onMigration = (pending: readonly string[]) => {
    migrations.push(...pending)
    ports.onMigration?.(pending)
  }
  return withStore(url, 'create', { ...ports, onMigration }, async store => ({
    migrations,
    revision: (await store.head()).revision,
  }))
}
