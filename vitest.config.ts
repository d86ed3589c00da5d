import { defineConfig } from 'vitest/config'
import { reporters } from './vitest.reporters.ts'

export default defineConfig({
  test: {
    include: ['test/**/*.test.{ts,tsx}'],
    pool: 'forks',
    maxWorkers: 2,
    // No test changes a module, and an import costs more than most tests.
    isolate: false,
    // On a busy machine; a slower test says so itself.
    testTimeout: 20_000,
    hookTimeout: 30_000,
    expect: { poll: { timeout: 5_000 } },
    reporters: reporters(),
  },
})
