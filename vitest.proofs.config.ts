import { defineConfig } from 'vitest/config'
import { reporters } from './vitest.reporters.ts'

/** Proofs that take minutes, each run by a script of its own: `npm run pack:check`. */
export default defineConfig({
  test: {
    include: ['test/**/*.proof.ts'],
    pool: 'forks',
    testTimeout: 60_000,
    hookTimeout: 600_000,
    reporters: reporters(),
  },
})
