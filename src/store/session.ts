import type { Kysely, SqliteDatabase, SqliteStatement } from 'kysely'
import { BUSY_MS, type OpenDatabase, openDatabase, type StoreMode, whileBusy } from './database.ts'
import type { Tables } from './tables.ts'

const MAX_KEPT = 200
/** Of the text: a change of many rows is not repeated. */
const MAX_KEPT_LENGTH = 4_000

/** One open connection: bare, for fast reads and the start, and with Kysely on top. */
export interface Session extends OpenDatabase {
  /** Created on first use: reading the served state does not need it, and loading it takes 150 ms. */
  kysely(): Promise<Kysely<Tables>>
  /** Runs `work` after all earlier calls have finished; `work` has the connection for itself until it resolves. */
  inTurn<T>(work: () => Promise<T>): Promise<T>
}

/** @throws {CommandError} as {@link openDatabase} */
export async function openSession(path: string, mode: StoreMode): Promise<Session> {
  const opened = await openDatabase(path, mode)
  let kysely: Promise<Kysely<Tables>> | undefined
  let last: Promise<void> = Promise.resolve()
  return {
    ...opened,
    kysely() {
      kysely ??= makeKysely(opened)
      return kysely
    },
    inTurn(work) {
      const mine = last.then(work)
      const settled = () => undefined
      last = mine.then(settled, settled)
      return mine
    },
  }
}

/** Closes after all current users of the connection have finished. */
export async function closeSession(session: Session): Promise<void> {
  await session.inTurn(async () => void session.raw.close())
}

/** All reads of `work` see one moment. */
export function readConsistently<T>(session: Session, work: (db: Kysely<Tables>) => Promise<T>): Promise<T> {
  return session.inTurn(async () => (await session.kysely()).transaction().execute(work))
}

/** The same without Kysely. */
export function readBare<T>(session: Session, work: () => Promise<T>): Promise<T> {
  return session.inTurn(() => inTransaction(session, () => session.raw.exec('begin'), work))
}

/**
 * Runs `work` in a transaction that holds the write lock from its start, so that its reads stay valid until it has
 * written. Rolls back if `work` throws.
 */
export function immediately<T>(session: Session, work: (db: Kysely<Tables>) => Promise<T>): Promise<T> {
  return session.inTurn(async () =>
    (await session.kysely()).connection().execute(db =>
      inTransaction(
        session,
        () => lock(session),
        () => work(db),
      ),
    ),
  )
}

/** The same without Kysely. */
export function writeBare<T>(session: Session, work: () => Promise<T>): Promise<T> {
  return session.inTurn(() => inTransaction(session, () => lock(session), work))
}

/**
 * Waits for the lock with pauses, not inside SQLite: that would block the event loop, and with it a transaction of
 * another connection of this process, which would have to end first.
 */
async function lock({ raw }: Session): Promise<void> {
  raw.pragma('busy_timeout = 0')
  try {
    await whileBusy(() => raw.exec('begin immediate'))
  } finally {
    raw.pragma(`busy_timeout = ${BUSY_MS}`)
  }
}

async function inTransaction<T>({ raw }: Session, begin: () => unknown, work: () => Promise<T>): Promise<T> {
  await begin()
  try {
    const result = await work()
    raw.exec('commit')
    return result
  } catch (error) {
    // A full disk rolls back automatically.
    if (raw.inTransaction) raw.exec('rollback')
    throw error
  }
}

async function makeKysely({ raw }: OpenDatabase): Promise<Kysely<Tables>> {
  const { Kysely, SqliteDialect } = await import('kysely')
  return new Kysely<Tables>({ dialect: new SqliteDialect({ database: keepingStatements(raw) }) })
}

/** SQLite takes longer to compile most statements than to run them: those that ran last are kept. */
function keepingStatements(raw: OpenDatabase['raw']): SqliteDatabase {
  const kept = new Map<string, SqliteStatement>()
  return {
    prepare(sql) {
      const statement = kept.get(sql) ?? raw.prepare(sql)
      if (sql.length > MAX_KEPT_LENGTH) return statement
      // The oldest is the first.
      kept.delete(sql)
      kept.set(sql, statement)
      for (const [oldest] of kept) {
        if (kept.size <= MAX_KEPT) break
        kept.delete(oldest)
      }
      return statement
    },
    close: () => raw.close(),
  }
}
