import type { Clock } from '../../src/base/clock.ts'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/types.ts'
import { execute as executeIn } from '../support/past-the-store.ts'
import { storeDatabase, type TestDatabase } from '../support/postgres.ts'
import { tempDir } from '../support/temp-dir.ts'
import { TEST_ENGINE } from '../support/test-engine.ts'
import type { WhenOver } from '../support/when-over.ts'

/** An empty database of a test, in which any number of stores may be opened; all are closed when the test is over. */
export interface EmptyDatabase {
  open(clock: Clock): Promise<Store>
  /** Runs one statement past the store, as a person with a database client would. */
  execute(sql: string): Promise<void>
  /** A statement that tries to replace a row. @param insert without its verb: `into t (…) values (…)` */
  replace(insert: string, key: string): string
  /** From now on no update of a table succeeds. Resolves with the end of that. */
  rejectUpdates(table: string, message: string): Promise<() => Promise<void>>
}

const ENGINES: Record<string, (whenOver: WhenOver) => EmptyDatabase> = {
  sqlite(whenOver) {
    const folder = tempDir(whenOver)
    const execute = (sql: string) => executeIn(folder.at('gw.db'), sql)
    return {
      async open(clock) {
        const store = await openStore('sqlite:gw.db', { mode: 'create', clock, folder: folder.path })
        whenOver(() => store.close())
        return store
      },
      execute,
      replace: insert => `insert or replace ${insert}`,
      async rejectUpdates(table, message) {
        await execute(
          `create trigger reject before update on ${table} begin select raise(abort, '${message}'); end`,
        )
        return () => execute('drop trigger reject')
      },
    }
  },
  postgres(whenOver) {
    let made: Promise<TestDatabase> | undefined
    const database = () => {
      made ??= storeDatabase(whenOver)
      return made
    }
    const execute = async (sql: string) => (await database()).execute(sql)
    return {
      async open(clock) {
        const { url } = await database()
        const store = await openStore(url, { mode: 'create', clock })
        whenOver(() => store.close())
        return store
      },
      execute,
      replace: (insert, key) =>
        `insert ${insert} on conflict (${key}) do update set ${key
          .split(',')
          .map(column => `${column} = excluded.${column}`)
          .join(', ')}`,
      async rejectUpdates(table, message) {
        await execute(
          `create trigger reject before update on ${table} execute function gw_reject('${message}')`,
        )
        return () => execute(`drop trigger reject on ${table}`)
      },
    }
  },
}

/**
 * The databases that stand behind `Store`: the tests of the interface run on each. `npm test` has SQLite and a few tests
 * of PostgreSQL, `npm run postgres` has all of them on PostgreSQL.
 */
export const STORES = Object.fromEntries(
  Object.entries(ENGINES).filter(([name]) => (TEST_ENGINE ? name === TEST_ENGINE : name !== 'postgres')),
)

/** One of them, for tests that need any store. */
export function emptyDatabase(whenOver: WhenOver): EmptyDatabase {
  const [make] = Object.values(STORES)
  if (!make) throw new Error(`no database is called ${TEST_ENGINE}`)
  return make(whenOver)
}
