import { defineConfig } from 'vitest/config'
import { reporters } from './vitest.reporters.ts'

/** The tests of the store, of REST and of the command line with the store in PostgreSQL: `npm run postgres`. */
export default defineConfig({
  test: {
    include: [
      'test/store/{commit,find,gateways,key-secrets,maintenance,people,state,stored-credentials}.test.ts',
      'test/store/ledger/accounting.test.ts',
      'test/store/postgres/**/*.test.ts',
      'test/services/{keys,keys-lifetime}.test.ts',
      'test/services/changes/*.test.ts',
      'test/server/revision-retention.test.ts',
      'test/admin/{audit,models,ownership,self-service,sets,surfaces,tenant-users,tokens}.test.ts',
      // The others look into the file, or are about it.
      'test/cli/{audit,blast,diff-apply,every-command,export,follow,history,import,json-pairs,keys,keys-create,logs,maintenance,plan,previous-name,probe,same-name,tokens,usage-report,users,wallet,why}.test.ts',
    ],
    env: { GW_TEST_ENGINE: 'postgres' },
    pool: 'forks',
    maxWorkers: 2,
    isolate: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 10_000 } },
    reporters: reporters(),
  },
})
