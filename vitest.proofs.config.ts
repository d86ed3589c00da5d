import { defineConfig } from 'vitest/config'
import { reporters } from './vitest.reporters.ts'

/**
 * What takes long: crash loops, long histories, README and examples word for word, the package. `npm run proofs` runs all of them in
 * their short form, and the scripts of `scripts/crash.mjs` some of them for longer.
 */
export default defineConfig({
  test: {
    include: ['test/**/*.proof.ts'],
    pool: 'forks',
    maxWorkers: 2,
    // A busy machine takes ten times as long as a quiet one: what hangs is found in any case.
    testTimeout: 240_000,
    hookTimeout: 600_000,
    expect: { poll: { timeout: 20_000 } },
    reporters: reporters(),
  },
})
