import { Kysely, SqliteDialect, sql } from 'kysely'
import { BUSY_MS, type OpenDatabase, openDatabase, type StoreMode, whileBusy } from './database.ts'
import type { Tables } from './tables.ts'

/** One open connection: Kysely on top, and the same connection bare, for what must be answered at once. */
export interface Session extends OpenDatabase {
  readonly db: Kysely<Tables>
}

/** @throws {CommandError} as {@link openDatabase} */
export async function openSession(path: string, mode: StoreMode): Promise<Session> {
  const opened = await openDatabase(path, mode)
  return { ...opened, db: new Kysely<Tables>({ dialect: new SqliteDialect({ database: opened.raw }) }) }
}

/** Closes once nobody uses the connection any more. */
export async function closeSession(session: Session): Promise<void> {
  await session.db.connection().execute(async () => void session.raw.close())
  await session.db.destroy()
}

/**
 * Runs `work` in a transaction that holds the write lock from its start, so that what it reads stays true until it
 * has written. Rolled back where `work` throws.
 *
 * The lock is awaited with pauses, not inside SQLite: there it would stop the event loop, and with it a
 * transaction of another connection of this process, which is the one that would have to end first.
 */
export async function immediately<T>(session: Session, work: (db: Kysely<Tables>) => Promise<T>): Promise<T> {
  const { raw } = session
  return session.db.connection().execute(async db => {
    raw.pragma('busy_timeout = 0')
    try {
      await whileBusy(() => raw.exec('begin immediate'))
    } finally {
      raw.pragma(`busy_timeout = ${BUSY_MS}`)
    }
    try {
      const result = await work(db)
      await sql`commit`.execute(db)
      return result
    } catch (error) {
      // A full disk rolls back by itself.
      if (raw.inTransaction) raw.exec('rollback')
      throw error
    }
  })
}
