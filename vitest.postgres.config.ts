import { defineConfig } from 'vitest/config'
import { filesOnPostgres } from './test/engines.ts'
import { reporters } from './vitest.reporters.ts'

/** The tests that `test/engines.ts` selects, with the store in PostgreSQL: `npm run postgres`. */
export default defineConfig({
  test: {
    include: filesOnPostgres(),
    setupFiles: ['test/support/on-postgres.ts'],
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
