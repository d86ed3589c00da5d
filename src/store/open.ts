import type { Clock } from '../base/clock.ts'
import { Connection } from './connection.ts'
import type { StoreMode } from './database.ts'
import type { OnMigration } from './migrate.ts'
import { SqliteServingStore } from './serving-store.ts'
import type { ServingStore, Store } from './types.ts'
import { storePath } from './url.ts'

export interface OpenOptions {
  /**
   * `read` works while others write, and creates nothing · `write` needs an existing store · `create` makes the file
   * (0600) and its folder if they are missing. The latter two also migrate the schema.
   */
  readonly mode: StoreMode
  readonly clock: Clock
  /** The folder that a relative path starts from; the working directory by default. */
  readonly folder?: string
  readonly onMigration?: OnMigration | undefined
}

/**
 * Opens the store behind `--store`, such as `sqlite:./data/gw.db`.
 *
 * @throws {CommandError} usage wrong URL · store_unavailable cannot be opened · store_too_new written by a newer gw · store_missing does not
 * exist · store_outdated written by an older gw (`read` only) · store_locked locked.
 */
export async function openStore(url: string, options: OpenOptions): Promise<Store> {
  const { SqliteStore } = await import('./sqlite-store.ts')
  return new SqliteStore(await connect(url, options), options.clock)
}

/** Opens only the part that a serving gateway needs, in a third of the time. @throws as {@link openStore} */
export async function openServingStore(url: string, options: OpenOptions): Promise<ServingStore> {
  return new SqliteServingStore(await connect(url, options), options.clock)
}

function connect(url: string, { folder = '.', mode, onMigration }: OpenOptions): Promise<Connection> {
  return Connection.open(storePath(url, folder), mode, onMigration)
}
