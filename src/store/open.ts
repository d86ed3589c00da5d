import process from 'node:process'
import type Database from 'better-sqlite3'
import type { Clock } from '../base/clock.ts'
import { Connection } from './connection.ts'
import type { StoreMode } from './database.ts'
import type { StorePorts } from './engine.ts'
import type { OnMigration } from './migrate.ts'
import { DatabaseServingStore } from './serving-store.ts'
import { SqliteEngine } from './sqlite-engine.ts'
import type { ServingStore, Store } from './types.ts'
import { isPostgresUrl, storePath } from './url.ts'

export interface OpenOptions {
  /**
   * `read` works while others write, and creates nothing · `write` needs an existing store · `create` makes the file
   * (0600) and its folder if they are missing, or the tables in an empty database. The latter two also migrate the schema.
   */
  readonly mode: StoreMode
  readonly clock: Clock
  /** The folder that a relative path starts from; the working directory by default. */
  readonly folder?: string
  readonly onMigration?: OnMigration | undefined
  /** `GW_STORE_…` and `PG…`; those of the process by default. */
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** Called with what an operator should know about the store, once. */
  readonly onNotice?: ((message: string) => void) | undefined
}

/**
 * Opens the store behind `--store`, such as `sqlite:./data/gw.db` or `postgres://gw@db.example.com/gw`.
 *
 * @throws {CommandError} usage wrong URL · store_unavailable cannot be opened · store_too_new written by a newer gw · store_missing does not
 * exist · store_outdated written by an older gw (`read` only) · store_locked locked.
 */
export async function openStore(url: string, options: OpenOptions): Promise<Store> {
  const { clock } = options
  const { DatabaseStore } = await import('./database-store.ts')
  if (isPostgresUrl(url)) {
    const { PostgresAccounting } = await import('./postgres/ledger/accounting.ts')
    const { PostgresRegistry } = await import('./postgres/ledger/registry.ts')
    const engine = await openDatabase(url, options)
    const serving = new DatabaseServingStore(engine, clock)
    const parts = {
      engine,
      serving,
      accountingOf: (ports: StorePorts) => new PostgresAccounting(ports),
      registryOf: (ports: StorePorts) => new PostgresRegistry(ports),
    }
    return new DatabaseStore(parts, clock)
  }
  const { SqliteAccounting } = await import('./ledger/accounting.ts')
  const { SqliteRegistry } = await import('./shares/sqlite-registry.ts')
  const engine = await openFile(url, options)
  const serving = new DatabaseServingStore(engine, clock)
  const path = storePath(url, options.folder ?? '.')
  const parts = {
    engine,
    serving,
    accountingOf: (ports: StorePorts<Database.Database>) => new SqliteAccounting(ports),
    registryOf: (ports: StorePorts<Database.Database>) => new SqliteRegistry(ports, path),
  }
  return new DatabaseStore(parts, clock)
}

/** Opens only the part that a serving gateway needs, in a third of the time. @throws as {@link openStore} */
export async function openServingStore(url: string, options: OpenOptions): Promise<ServingStore> {
  const engine = isPostgresUrl(url) ? await openDatabase(url, options) : await openFile(url, options)
  return new DatabaseServingStore(engine, options.clock)
}

async function openFile(url: string, { folder = '.', mode, onMigration }: OpenOptions) {
  return new SqliteEngine(await Connection.open(storePath(url, folder), mode, onMigration))
}

async function openDatabase(url: string, options: OpenOptions) {
  const { openPostgres } = await import('./postgres/open.ts')
  return openPostgres(url, { environment: process.env, ...options })
}
