import { defineConfig } from 'vitest/config'
import { reporters } from './vitest.reporters.ts'

export default defineConfig({
  test: {
    include: ['test/**/*.test.{ts,tsx}'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 30_000,
    reporters: reporters(),
  },
})
