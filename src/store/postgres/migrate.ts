import { CommandError } from '../../base/catalogue/command.ts'
import type { StoreMode } from '../database.ts'
import type { OnMigration } from '../migrate.ts'
import { isExpansion } from '../migrations/names.ts'
import { type PostgresClient, type PostgresConnections, WHOLE_STORE_MS } from './connection.ts'
import { codeOf } from './faults.ts'
import { NOW_MS } from './ledger/clock-of-store.ts'
import { lockStatement } from './locks.ts'

const UNDEFINED_TABLE = '42P01'
/** The table in which Kysely records migrations, as in SQLite. */
const RECORD = `create table if not exists kysely_migration (name text collate "C" primary key, timestamp text not null)`

/**
 * Applies all pending migrations in one transaction, under a lock: any number of processes may do so at once.
 * @throws {CommandError} store_unavailable if the database is that of another program; store_too_new if a newer gw
 * wrote it; store_missing if it is empty and the mode is not `create`; store_outdated if an older gw wrote it and the
 * mode is `read`; store_in_use if gateways of an older gw serve it and a migration is more than an expansion.
 */
export async function migrate(
  connections: PostgresConnections,
  mode: StoreMode,
  onMigration: OnMigration = () => undefined,
): Promise<void> {
  const { name } = connections
  const { MIGRATIONS } = await import('./migrations/list.ts')
  const known = Object.keys(MIGRATIONS)
  const done = await appliedTo(connections)
  const newer = done.filter(migration => !known.includes(migration) && !isExpansion(migration))
  if (newer.length > 0) {
    throw new CommandError(
      'store_too_new',
      `${name} has the migrations ${newer.join(', ')}, which this gw does not know.`,
    )
  }
  const pending = known.filter(migration => !done.includes(migration))
  if (pending.length === 0) return
  if (done.length === 0 && mode !== 'create')
    throw new CommandError('store_missing', `${name} has no tables of gw yet.`)
  if (mode === 'read') throw new CommandError('store_outdated', `${name} lacks ${pending.join(', ')}.`)
  if (done.length > 0) onMigration(pending)
  await connections.use(
    client =>
      client.transaction('start transaction', async () => {
        await client.query(lockStatement('migrations'))
        await client.query(RECORD)
        // Another process may have applied them meanwhile.
        const { rows } = await client.query<{ name: string }>('select name from kysely_migration')
        if (rows.length > 0 && !pending.every(isExpansion)) await rejectServed(client, name)
        const db = await client.kysely()
        for (const migration of pending) {
          if (rows.some(row => row.name === migration)) continue
          await MIGRATIONS[migration]?.up(db)
          await client.query('insert into kysely_migration values ($1, now()::text)', [migration])
        }
      }),
    WHOLE_STORE_MS,
  )
}

const SERVING = `select from instances where is_fenced = 0 and expires_at_ms > ${NOW_MS} limit 1`

/** Gateways of an older version do not write what the new tables need. @throws {CommandError} store_in_use */
async function rejectServed(client: PostgresClient, name: string): Promise<void> {
  // None begins before the transaction ends.
  await client.query('lock table instances in share mode')
  const { rowCount } = await client.query(SERVING)
  if (rowCount === 0) return
  throw new CommandError(
    'store_in_use',
    `${name} must be converted for this version of gw, and gateways of an older one serve it.`,
  )
}

/** The migrations that a database records; none if it is empty. */
function appliedTo(connections: PostgresConnections): Promise<readonly string[]> {
  return connections.use(async client => {
    try {
      const { rows } = await client.query<{ name: string }>('select name from kysely_migration order by name')
      return rows.map(row => row.name)
    } catch (error) {
      if (codeOf(error) !== UNDEFINED_TABLE) throw error
    }
    const { rows } = await client.query('select from pg_tables where schemaname = current_schema() limit 1')
    if (rows.length === 0) return []
    throw new CommandError('store_unavailable', `${connections.name} is the database of another program.`, {
      hint: 'Create a database for gw alone: `createdb NAME`.',
    })
  })
}
