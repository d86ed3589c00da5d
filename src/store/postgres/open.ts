import type { Clock } from '../../base/clock.ts'
import type { StoreMode } from '../database.ts'
import type { OnMigration } from '../migrate.ts'
import { type PostgresAddress, parsePostgresUrl } from './address.ts'
import { PostgresConnections } from './connection.ts'
import { PostgresEngine } from './engine.ts'
import { migrate } from './migrate.ts'
import { assertSettings } from './server-settings.ts'

export interface OpenPostgresOptions {
  readonly mode: StoreMode
  readonly clock: Clock
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly onMigration?: OnMigration | undefined
  readonly onNotice?: ((message: string) => void) | undefined
}

/**
 * Opens a database. `GW_STORE_READ` names a replica for those who only read, `GW_STORE_DIRECT` the server itself if the
 * URL is that of a pooler.
 * @throws {CommandError} usage, and as `migrate`
 */
export async function openPostgres(
  url: string,
  { mode, clock, environment, onMigration, onNotice }: OpenPostgresOptions,
): Promise<PostgresEngine> {
  const { GW_STORE_READ, GW_STORE_DIRECT } = environment
  const primary = parsePostgresUrl(url, '--store')
  const address =
    mode === 'read' && GW_STORE_READ ? parsePostgresUrl(GW_STORE_READ, 'GW_STORE_READ') : primary
  const direct = GW_STORE_DIRECT ? parsePostgresUrl(GW_STORE_DIRECT, 'GW_STORE_DIRECT') : primary
  const connections = await openConnections(address, mode, onMigration)
  return new PostgresEngine(connections, { direct, clock, onNotice: onNotice ?? (() => undefined) })
}

/**
 * Connects to a database that has the tables of gw by then.
 * @throws {CommandError} as `assertSettings` and `migrate`; store_locked
 */
export async function openConnections(
  address: PostgresAddress,
  mode: StoreMode,
  onMigration?: OnMigration,
): Promise<PostgresConnections> {
  const connections = await PostgresConnections.open(address)
  try {
    await assertSettings(connections)
    await migrate(connections, mode, onMigration)
    return connections
  } catch (error) {
    await connections.end()
    throw error
  }
}
