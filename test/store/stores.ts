import Database from 'better-sqlite3'
import type { Clock } from '../../src/base/clock.ts'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/types.ts'
import { tempDir } from '../support/temp-dir.ts'
import type { WhenOver } from '../support/when-over.ts'

/** An empty database of a test, in which any number of stores may be opened; all are closed when the test is over. */
export interface EmptyDatabase {
  open(clock: Clock): Promise<Store>
  /** Runs one statement past the store, as a person with a database client would. */
  execute(sql: string): void
}

/** Every database that stands behind `Store`. The tests of the interface run on each. */
export const STORES: Record<string, (whenOver: WhenOver) => EmptyDatabase> = {
  sqlite(whenOver) {
    const folder = tempDir(whenOver)
    return {
      async open(clock) {
        const store = await openStore('sqlite:gw.db', { mode: 'create', clock, folder: folder.path })
        whenOver(() => store.close())
        return store
      },
      execute(sql) {
        const raw = new Database(folder.at('gw.db'), { fileMustExist: true })
        try {
          raw.exec(sql)
        } finally {
          raw.close()
        }
      },
    }
  },
}
