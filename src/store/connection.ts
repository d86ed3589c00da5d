import { statSync } from 'node:fs'
import { CommandError } from '../base/catalogue/command.ts'
import { fileIdentity, type StoreMode } from './database.ts'
import { storeFault } from './faults.ts'
import { migrate } from './migrate.ts'
import { closeSession, openSession, type Session } from './session.ts'

/** The one connection of a store, which follows its path to another file when the file is replaced. */
export class Connection {
  readonly path: string
  readonly #mode: StoreMode
  /** Undefined between the end of one session and the success of the next. */
  #session: Session | undefined
  #reopening: Promise<Session> | undefined
  #closed = false

  static async open(path: string, mode: StoreMode): Promise<Connection> {
    return new Connection(path, mode, await openMigrated(path, mode))
  }

  private constructor(path: string, mode: StoreMode, session: Session) {
    this.path = path
    // Created once: a file that vanishes later is a fault to report, not a fresh start.
    this.#mode = mode === 'create' ? 'write' : mode
    this.#session = session
  }

  /**
   * What is open at this moment, unless the path names another file by now. A path that names nothing is one on
   * its way to be replaced: what is open stays good until the new file is there.
   */
  peek(): Session | undefined {
    const file = fileIdentity(this.path)
    return file === undefined || file === this.#session?.file ? this.#session : undefined
  }

  /**
   * A session on the file that the path names now.
   * @throws {CommandError} GW2001, GW2002, GW2003, GW2004, GW2005
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

  /** Runs `work` on a session; what is wrong with the database or its file comes out as an operator is told of it. */
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
   * A new file beside the write-ahead log of the old one would be read as a mixture of both
   * (https://sqlite.org/howtocorrupt.html §1.4), so the new one stays closed until the log has gone.
   */
  async #reopen(): Promise<Session> {
    if (fileIdentity(this.path) === undefined) throw new CommandError('GW2003', `${this.path} has gone.`)
    const wal = `${this.path}-wal`
    const old = this.#session
    const walBytes = statSync(wal, { throwIfNoEntry: false })?.size ?? 0
    if (old && walBytes > 0 && fileIdentity(wal) === old.walFile) {
      throw new CommandError(
        'GW2001',
        `${this.path} was replaced, but ${wal} is still that of the old one.`,
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

async function openMigrated(path: string, mode: StoreMode): Promise<Session> {
  try {
    const session = await openSession(path, mode)
    try {
      await migrate(session, mode)
      return session
    } catch (error) {
      await closeSession(session)
      throw error
    }
  } catch (error) {
    throw storeFault(error, path)
  }
}
