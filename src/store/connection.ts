import { statSync } from 'node:fs'
import { CommandError } from '../base/catalogue/command.ts'
import { fileIdentity, type StoreMode } from './database.ts'
import { storeFault } from './faults.ts'
import { migrate, type OnMigration } from './migrate.ts'
import { closeSession, openSession, type Session } from './session.ts'

/** The one connection of a store; it follows its path if the file is replaced. */
export class Connection {
  readonly path: string
  readonly #mode: StoreMode
  /** Undefined between the end of one session and the success of the next. */
  #session: Session | undefined
  #reopening: Promise<Session> | undefined
  #closed = false

  static async open(path: string, mode: StoreMode, onMigration?: OnMigration): Promise<Connection> {
    return new Connection(path, mode, await openMigrated(path, mode, onMigration))
  }

  private constructor(path: string, mode: StoreMode, session: Session) {
    this.path = path
    // Created once: if the file vanishes later, that is an error, not a fresh start.
    this.#mode = mode === 'create' ? 'write' : mode
    this.#session = session
  }

  /**
   * The open session, unless the path names another file by now. If the path names no file, it is about to be replaced:
   * the session stays usable until the new file exists.
   */
  peek(): Session | undefined {
    const file = fileIdentity(this.path)
    return file === undefined || file === this.#session?.file ? this.#session : undefined
  }

  /**
   * A session on the file that the path names now.
   * @throws {CommandError} store_unavailable, store_too_new, store_missing, store_outdated, store_locked
   */
  async current(): Promise<Session> {
    if (this.#closed) throw new Error('the store is closed')
    if (this.#reopening) return this.#reopening
    if (this.#session && fileIdentity(this.path) === this.#session.file) return this.#session
    this.#reopening = this.#reopen()
    try {
      return await this.#reopening
    } finally {
      this.#reopening = undefined
    }
  }

  /** Runs `work` on a session; converts errors of the database or its file into errors for the operator. */
  async use<T>(work: (session: Session) => Promise<T>): Promise<T> {
    try {
      return await work(await this.current())
    } catch (error) {
      throw storeFault(error, this.path)
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.#reopening?.catch(() => undefined)
    const session = this.#session
    this.#session = undefined
    if (session) await closeSession(session)
  }

  /**
   * SQLite would read a new file beside the write-ahead log of the old one as a mixture of both
   * (https://sqlite.org/howtocorrupt.html §1.4), so the new file is not opened while that log exists.
   */
  async #reopen(): Promise<Session> {
    if (fileIdentity(this.path) === undefined)
      throw new CommandError('store_missing', `${this.path} no longer exists.`)
    const wal = `${this.path}-wal`
    const old = this.#session
    const walBytes = statSync(wal, { throwIfNoEntry: false })?.size ?? 0
    if (old && walBytes > 0 && fileIdentity(wal) === old.walFile) {
      throw new CommandError(
        'store_unavailable',
        `${this.path} was replaced, but ${wal} still belongs to the old file.`,
        {
          hint: `Remove ${wal} and ${this.path}-shm, too; next time stop every gw before the file is replaced.`,
        },
      )
    }
    this.#session = undefined
    if (old) await closeSession(old)
    this.#session = await openMigrated(this.path, this.#mode)
    return this.#session
  }
}

async function openMigrated(path: string, mode: StoreMode, onMigration?: OnMigration): Promise<Session> {
  try {
    const session = await openSession(path, mode)
    try {
      await migrate(session, mode, onMigration)
      return session
    } catch (error) {
      await closeSession(session)
      throw error
    }
  } catch (error) {
    throw storeFault(error, path)
  }
}
